// The selection: the selected box, boxes or partition, the candidate in focus, and the hovered and found boxes.

import { batch, signal } from "@preact/signals";
import type { NodeCandidate } from "../../data/protocol";

export type Selection =
  | { kind: "none" }
  | { kind: "box"; box: number }
  /** At least two nodes; arrow keys go on from the last one, which is the newest. */
  | { kind: "boxes"; boxes: readonly number[] }
  | { kind: "partition"; id: string };

export const selection = signal<Selection>({ kind: "none" });
/** The candidate that pin and veto are about; null where they are about the selection itself. */
export const focused = signal<NodeCandidate | null>(null);
/** The boxes to outline while the pointer is over something that names them. */
export const hovered = signal<ReadonlySet<number>>(new Set());
/** The boxes that match the text in the find box. */
export const hits = signal<ReadonlySet<number>>(new Set());

const NOTHING: ReadonlySet<number> = new Set();

/** Select a box, a partition or nothing. */
export function select(next: Selection): void {
  batch(() => {
    selection.value = next;
    focused.value = null;
    hovered.value = NOTHING;
  });
}

/** Nodes as a selection: nothing, one, or several. */
export function selectionOf(nodes: readonly number[]): Selection {
  const [first] = nodes;
  if (first === undefined) return { kind: "none" };
  return nodes.length === 1 ? { kind: "box", box: first } : { kind: "boxes", boxes: nodes };
}

export function clearSelection(): void {
  select({ kind: "none" });
  hits.value = NOTHING;
}
