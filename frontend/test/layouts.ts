// From a model graph to its layout in one step, with a measurer that needs no canvas.

import { build, type BuiltGraph } from "../src/graph/build";
import { layout, type LayoutRequest, type LayoutResult } from "../src/graph/layout_core";
import { measure, type Sizes } from "../src/graph/measure";
import { layoutRequest } from "../src/graph/scene";
import type { GraphJson } from "../src/protocol";

/** Every character six pixels wide. */
export const plainMeasurer = (text: string): number => text.length * 6;

export interface LaidOut {
  graph: BuiltGraph;
  sizes: Sizes;
  request: LayoutRequest;
  result: LayoutResult;
}

export function laidOut(json: GraphJson): LaidOut {
  const graph = build(json);
  const sizes = measure(graph, plainMeasurer);
  const request = layoutRequest(graph, sizes);
  return { graph, sizes, request, result: layout(request) };
}
