// The node at the pointer, and the position of the tip that shows the overlay's text about it.

import { signal } from "@preact/signals";

export interface Tip {
  box: number;
  /** Pixels from the top left of the graph. */
  x: number;
  y: number;
}

export const tip = signal<Tip | null>(null);

/** Show the tip for the box at the pointer; hide it where the box is undefined. */
export function pointAt(box: number | undefined, x: number, y: number): void {
  if (box === undefined) {
    if (tip.peek()) tip.value = null;
    return;
  }
  if (tip.peek()?.box !== box) tip.value = { box, x, y };
}
