// Makes the scene of a model from its boxes: fold, measure, lay out in the worker, wrap into columns, place. Done once for each model and fold, over
// several frames for a large one.

import type { Size } from "../../base/geometry";
import { nextFrame, overFrames } from "../../base/long_work";
import type { GraphJson, PlanPartition } from "../../data/protocol";
import type { BuiltGraph } from "../boxes/build";
import { folding } from "../boxes/fold";
import type { GroupTree } from "../boxes/groups";
import { findLayout } from "../layout/cache";
import { measuring, textWidth } from "../layout/measure";
import { Superseded } from "../layout/request";
import { wrapping, type Columns } from "../layout/wrap";
import { framing, type GroupFrame } from "./handles";
import { hulling } from "./hulls";
import { layoutRequest, placing, type Scene } from "./scene";

/** A scene, and the frames around the unfolded groups in it. */
export interface MadeScene {
  scene: Scene;
  frames: readonly GroupFrame[];
}

/** The window that a scene is for. */
export interface Window {
  room: Size;
  columns: Columns;
}

let newest = 0;

/** Make the scene of a model for a window, all groups folded but those in `open`, with the hulls of a plan. Rejects with `Superseded`
 * where a newer scene was asked for. */
export async function makeScene(model: string, json: GraphJson, built: BuiltGraph, tree: GroupTree, open: ReadonlySet<string>, plan: readonly PlanPartition[], { room, columns }: Window): Promise<MadeScene> {
  const mine = ++newest;
  const pause = async (): Promise<void> => {
    await nextFrame();
    if (mine !== newest) throw new Superseded();
  };
  const graph = await overFrames(folding(built, json.nodes, tree, open), pause);
  const sizes = await overFrames(measuring(graph, textWidth), pause);
  const request = layoutRequest(graph, sizes);
  const laid = await findLayout(model, request);
  const { layout, ends } = await overFrames(wrapping(request, laid, room, columns), pause);
  const scene = await overFrames(placing(graph, sizes, layout, ends), pause);
  const frames = await overFrames(framing(scene), pause);
  await overFrames(hulling(scene, plan), pause);
  await pause();
  return { scene, frames };
}
