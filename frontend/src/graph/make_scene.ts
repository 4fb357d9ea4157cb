// From a model's boxes to its scene: fold, measure, lay out in the worker, place. Done once for each model and way to fold it.

import { breath } from "../idle";
import type { GraphJson } from "../protocol";
import type { BuiltGraph } from "./build";
import { foldGraph } from "./fold";
import type { GroupTree } from "./groups";
import { findLayout } from "./layout_cache";
import { measure, textWidth } from "./measure";
import { layoutRequest, placeScene, type Scene } from "./scene";

/** Lay the graph of a model out, all groups folded but those in `open`. Rejects with `Superseded` where another layout was asked for meanwhile. */
export async function makeScene(model: string, json: GraphJson, built: BuiltGraph, tree: GroupTree, open: ReadonlySet<string>): Promise<Scene> {
  const graph = foldGraph(built, json.nodes, tree, open);
  const sizes = measure(graph, textWidth);
  const layout = await findLayout(model, layoutRequest(graph, sizes));
  await breath();
  return placeScene(graph, sizes, layout);
}
