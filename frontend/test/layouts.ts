// From a model graph to its layout in one step, with a measurer that needs no canvas.

import type { LongWork } from "../src/base/long_work";
import type { GraphJson } from "../src/data/protocol";
import { building, type BuiltGraph } from "../src/graph/boxes/build";
import { folding, type ShownGraph } from "../src/graph/boxes/fold";
import { NO_GROUPS, type GroupTree } from "../src/graph/boxes/groups";
import { layout, type LayoutRequest, type LayoutResult } from "../src/graph/layout/core";
import { measuring, type Sizes } from "../src/graph/layout/measure";
import { layoutRequest, placing, type Scene } from "../src/graph/scene/scene";
import { FORMAL } from "./graphs";

/** Every character six pixels wide. */
export const plainMeasurer = (text: string): number => text.length * 6;

/** Do the work without a pause. */
export function atOnce<T>(work: LongWork<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

export const builtOf = (json: GraphJson): BuiltGraph => atOnce(building(json, FORMAL));

export interface LaidOut {
  graph: ShownGraph;
  sizes: Sizes;
  request: LayoutRequest;
  result: LayoutResult;
}

export function laidOut(json: GraphJson, tree: GroupTree = NO_GROUPS, open: ReadonlySet<string> = new Set()): LaidOut {
  const graph = atOnce(folding(builtOf(json), json.nodes, tree, open));
  const sizes = atOnce(measuring(graph, plainMeasurer));
  const request = layoutRequest(graph, sizes);
  return { graph, sizes, request, result: layout(request) };
}

export function sceneOf(json: GraphJson, tree?: GroupTree, open?: ReadonlySet<string>): Scene {
  const { graph, sizes, result } = laidOut(json, tree, open);
  return atOnce(placing(graph, sizes, result));
}
