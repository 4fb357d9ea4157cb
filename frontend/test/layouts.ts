// From a model graph to its layout in one step, with a measurer that needs no canvas.

import type { GraphJson } from "../src/data/protocol";
import { build } from "../src/graph/boxes/build";
import { foldGraph, type ShownGraph } from "../src/graph/boxes/fold";
import { NO_GROUPS, type GroupTree } from "../src/graph/boxes/groups";
import { layout, type LayoutRequest, type LayoutResult } from "../src/graph/layout/core";
import { measure, type Sizes } from "../src/graph/layout/measure";
import { layoutRequest, placeScene, type Scene } from "../src/graph/scene/scene";
import { FORMAL } from "./graphs";

/** Every character six pixels wide. */
export const plainMeasurer = (text: string): number => text.length * 6;

export interface LaidOut {
  graph: ShownGraph;
  sizes: Sizes;
  request: LayoutRequest;
  result: LayoutResult;
}

export function laidOut(json: GraphJson, tree: GroupTree = NO_GROUPS, open: ReadonlySet<string> = new Set()): LaidOut {
  const graph = foldGraph(build(json, FORMAL), json.nodes, tree, open);
  const sizes = measure(graph, plainMeasurer);
  const request = layoutRequest(graph, sizes);
  return { graph, sizes, request, result: layout(request) };
}

export function sceneOf(json: GraphJson, tree?: GroupTree, open?: ReadonlySet<string>): Scene {
  const { graph, sizes, result } = laidOut(json, tree, open);
  return placeScene(graph, sizes, result);
}
