// The box that is to get the keyboard's focus: whoever walks the graph names it, the drawing gives it the focus.

import { signal } from "@preact/signals";

/** The box; null once it has the focus, or has lost its claim. */
export const focusWanted = signal<number | null>(null);

/** Move the keyboard's focus to a box of the graph, as soon as it has an element of its own. */
export function focusBox(box: number): void {
  focusWanted.value = box;
}
