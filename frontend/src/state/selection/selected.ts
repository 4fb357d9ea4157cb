// The selection as nodes of the model, and what adds to it or takes from it.

import { computed } from "@preact/signals";
import { model } from "../model/model";
import { partitions, run } from "../run/run";
import { focused, select, selection, selectionOf } from "./selection";

const NONE: readonly number[] = [];

/** The selected nodes; the model's own inputs and outputs are none. */
export const selectedNodes = computed((): readonly number[] => {
  const chosen = selection.value;
  const count = model.value?.graph.nodes.length ?? 0;
  if (chosen.kind === "box") return chosen.box < count ? [chosen.box] : NONE;
  if (chosen.kind === "boxes") return chosen.boxes.filter((node) => node < count);
  return (chosen.kind === "partition" && partitions.value.find((one) => one.id === chosen.id)?.nodes) || NONE;
});

/** Boxes that are outlined as selected: those of the candidate in focus, where there is one. */
export const outlined = computed((): ReadonlySet<number> => {
  const chosen = selection.value;
  if (chosen.kind === "box") return new Set(focused.value?.nodes ?? [chosen.box]);
  return new Set(chosen.kind === "boxes" ? chosen.boxes : NONE);
});

/** The selected partition; undefined where there is none, or where the shown plan has it not. */
export const selectedPartition = computed(() => {
  const chosen = selection.value;
  return chosen.kind === "partition" ? run.value?.plan?.partitions.find((one) => one.id === chosen.id) : undefined;
});

/** Add these nodes to the selection; where all of them are in it, take them away. */
export function toggleNodes(nodes: readonly number[]): void {
  const known = new Set(selectedNodes.peek());
  if (nodes.every((node) => known.has(node))) for (const node of nodes) known.delete(node);
  else for (const node of nodes) known.add(node);
  select(selectionOf([...known]));
}

/** Add these nodes to the selection; the last of them is where arrow keys go on. */
export function addNodes(nodes: readonly number[]): void {
  const known = new Set(selectedNodes.peek());
  for (const node of nodes) {
    known.delete(node);
    known.add(node);
  }
  select(selectionOf([...known]));
}
