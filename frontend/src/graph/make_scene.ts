// From a model's graph to its scene: build, measure, lay out in the worker, place. Done once for each model.

import type { GraphJson } from "../protocol";
import { build } from "./build";
import { requestLayout } from "./layout";
import { canvasMeasurer, measure } from "./measure";
import { layoutRequest, placeScene, type Scene } from "./scene";

/** Lay a graph out. Rejects with `Superseded` where another graph was asked for meanwhile. */
export async function makeScene(json: GraphJson): Promise<Scene> {
  const graph = build(json);
  const sizes = measure(graph, canvasMeasurer());
  return placeScene(graph, sizes, await requestLayout(layoutRequest(graph, sizes)));
}
