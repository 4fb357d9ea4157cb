// The node at the pointer, or the edge between partitions, and the position of the tip that says more about it.

import { signal } from "@preact/signals";
import type { Edge } from "../../graph/boxes/build";

export interface Tip {
  box: number | undefined;
  edge: Edge | undefined;
  /** Pixels from the top left of the graph. */
  x: number;
  y: number;
}

export const tip = signal<Tip | null>(null);

/** Show the tip for the box or the edge at the pointer; hide it where there is neither. */
export function pointAt(box: number | undefined, x: number, y: number, edge?: Edge): void {
  const now = tip.peek();
  if (box === undefined && edge === undefined) {
    if (now) tip.value = null;
    return;
  }
  if (now?.box !== box || now?.edge !== edge) tip.value = { box, edge, x, y };
}
