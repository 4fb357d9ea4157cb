// Finds the next box of a walk by arrow keys: up and down along the edges, left and right among siblings. Pure.

import { holderOf, type Scene } from "./scene";

export type Direction = "up" | "down" | "left" | "right";

/** The box to which an arrow key leads from `box`, or from the group that hides it; undefined where there is none. */
export function neighbour(scene: Scene, box: number, direction: Direction): number | undefined {
  const from = holderOf(scene, box);
  if (!from) return undefined;
  const id = from.box.id;
  if (direction === "up" || direction === "down") {
    const ids = direction === "up" ? scene.into[id]?.map((e) => e.edge.from) : scene.out[id]?.map((e) => e.edge.to);
    return nearestTo(scene, from.x + from.width / 2, ids ?? []);
  }
  const middle = from.x + from.width / 2;
  const sign = direction === "left" ? -1 : 1;
  const siblings = siblingsOf(scene, id).filter((id) => sign * (middleOf(scene, id) - middle) > 1);
  return nearestTo(scene, middle, siblings);
}

/** Boxes that share a producer or a reader with `box`. */
function siblingsOf(scene: Scene, box: number): number[] {
  const found = new Set<number>();
  for (const edge of scene.into[box] ?? []) for (const other of scene.out[edge.edge.from] ?? []) found.add(other.edge.to);
  for (const edge of scene.out[box] ?? []) for (const other of scene.into[edge.edge.to] ?? []) found.add(other.edge.from);
  found.delete(box);
  return [...found];
}

function middleOf(scene: Scene, id: number): number {
  const box = scene.boxes[id];
  return box ? box.x + box.width / 2 : 0;
}

function nearestTo(scene: Scene, x: number, ids: readonly number[]): number | undefined {
  return [...ids].sort((a, b) => Math.abs(middleOf(scene, a) - x) - Math.abs(middleOf(scene, b) - x))[0];
}
