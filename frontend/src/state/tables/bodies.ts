// The bodies of the run's nodes: fetched when a node that has some is selected, and kept for the run.

import { computed, effect, signal } from "@preact/signals";
import { api } from "../../data/api";
import type { ControlNode, RunBodies } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { model } from "../model/model";
import { run } from "../run/run";
import { selectedPartition } from "../selection/selected";
import { selection } from "../selection/selection";

const OPS = ["If", "Loop", "Scan"];

const bodies = signal<RunBodies | null>(null);

/** The selected node, or that of a partition of one node; null where it has no bodies. */
const wantedNode = computed((): number | null => {
  const chosen = selection.value;
  const [only, ...others] = chosen.kind === "partition" ? (selectedPartition.value?.nodes ?? []) : chosen.kind === "box" ? [chosen.box] : [];
  if (only === undefined || others.length > 0) return null;
  return OPS.includes(model.value?.graph.nodes[only]?.op ?? "") ? only : null;
});
const wantedRun = computed(() => (wantedNode.value !== null && run.value && hasEnded(run.value) && run.value.plan ? run.value.id : null));

/** The bodies of the selected node; null where it has none, or they are not there yet. */
export const selectedBodies = computed((): ControlNode | null => {
  if (bodies.value?.run !== wantedRun.value) return null;
  return bodies.value?.nodes.find((one) => one.node === wantedNode.value) ?? null;
});

/** Keep the bodies in step with the run and the selection. */
export function watchBodies(): void {
  effect(() => {
    const id = wantedRun.value;
    if (id !== null && bodies.peek()?.run !== id) void load(id);
  });
}

/** A run without a record has no bodies to show; nothing else is lost with them, so no error is shown. */
async function load(id: string): Promise<void> {
  const data = await api.bodies(id).catch((): RunBodies => ({ run: id, nodes: [] }));
  if (wantedRun.peek() === id) bodies.value = data;
}
