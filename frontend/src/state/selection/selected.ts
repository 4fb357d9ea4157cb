// The selection as nodes of the model, and how nodes are added to it and removed from it.

import { computed } from "@preact/signals";
import { model } from "../model/model";
import { partitions, run } from "../run/run";
import { focused, select, selection, selectionOf } from "./selection";

const NONE: readonly number[] = [];

/** The selected nodes; inputs and outputs of the model are not among them. */
export const selectedNodes = computed((): readonly number[] => {
  const chosen = selection.value;
  const count = model.value?.graph.nodes.length ?? 0;
  if (chosen.kind === "box") return chosen.box < count ? [chosen.box] : NONE;
  if (chosen.kind === "boxes") return chosen.boxes.filter((node) => node < count);
  return (chosen.kind === "partition" && partitions.value.find((one) => one.id === chosen.id)?.nodes) || NONE;
});

/** The boxes that are outlined as selected: those of the candidate in focus, else the selected ones. */
export const outlined = computed((): ReadonlySet<number> => {
  const chosen = selection.value;
  if (chosen.kind === "box") return new Set(focused.value?.nodes ?? [chosen.box]);
  return new Set(chosen.kind === "boxes" ? chosen.boxes : NONE);
});

/** The selected partition; undefined where there is none, or where the shown plan does not have it. */
export const selectedPartition = computed(() => {
  const chosen = selection.value;
  return chosen.kind === "partition" ? run.value?.plan?.partitions.find((one) => one.id === chosen.id) : undefined;
});

/** Add these nodes to the selection; remove them where all of them are in it. */
export function toggleNodes(nodes: readonly number[]): void {
  const known = new Set(selectedNodes.peek());
  if (nodes.every((node) => known.has(node))) for (const node of nodes) known.delete(node);
  else for (const node of nodes) known.add(node);
  select(selectionOf([...known]));
}

/** Add these nodes to the selection; arrow keys go on from the last of them. */
export function addNodes(nodes: readonly number[]): void {
  const known = new Set(selectedNodes.peek());
  for (const node of nodes) {
    known.delete(node);
    known.add(node);
  }
  select(selectionOf([...known]));
}
