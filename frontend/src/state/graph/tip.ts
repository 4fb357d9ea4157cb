// The node at the pointer, and where the pointer is: the overlay's words about it stand there.

import { signal } from "@preact/signals";

export interface Tip {
  box: number;
  /** Pixels from the top left of the graph. */
  x: number;
  y: number;
}

export const tip = signal<Tip | null>(null);

/** The pointer is over this box; undefined where it is over none. */
export function pointAt(box: number | undefined, x: number, y: number): void {
  if (box === undefined) {
    if (tip.peek()) tip.value = null;
    return;
  }
  if (tip.peek()?.box !== box) tip.value = { box, x, y };
}
