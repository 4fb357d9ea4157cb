// The box of the graph that is to get the keyboard's focus. A walk names the box; the drawing focuses its element as soon as it has one.

import { signal } from "@preact/signals";

/** The box; null once it has the focus, or is no longer selected. */
export const focusWanted = signal<number | null>(null);

/** Move the keyboard's focus to a box of the graph. */
export function focusBox(box: number): void {
  focusWanted.value = box;
}
