// The rubber band, which is drawn while the pointer drags it; on release the nodes that it touches join the selection.

import { signal } from "@preact/signals";
import type { Point, Rect } from "../../base/geometry";
import { model } from "../model/model";
import { addNodes } from "../selection/selected";
import { camera } from "./view";

/** Its two corners on the screen; null where there is none. */
export const band = signal<readonly [Point, Point] | null>(null);

/** The rectangle between two points. */
export function bandRect(from: Point, to: Point): Rect {
  return { x: Math.min(from.x, to.x), y: Math.min(from.y, to.y), width: Math.abs(from.x - to.x), height: Math.abs(from.y - to.y) };
}

/** Add the nodes that the band touches to the selection. */
export function endBand(from: Point, to: Point): void {
  band.value = null;
  const opened = model.peek();
  if (!opened) return;
  const { x, y, k } = camera.peek();
  const rect = bandRect(from, to);
  const area = { x: x + rect.x / k, y: y + rect.y / k, width: rect.width / k, height: rect.height / k };
  const { groupAt } = opened.scene.graph;
  const touched = opened.scene.boxesIn(area).flatMap(({ box }) => groupAt.get(box.id)?.nodes ?? [box.id]);
  const nodes = touched.filter((id) => id < opened.graph.nodes.length);
  if (nodes.length > 0) addNodes(nodes.sort((a, b) => a - b));
}
