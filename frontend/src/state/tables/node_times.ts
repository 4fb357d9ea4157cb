// The times of the nodes inside the partitions of the shown plan: fetched when something needs them, and cached for the last few runs.

import { computed, effect, signal } from "@preact/signals";
import { api } from "../../data/api";
import { icicle, type Part } from "../../data/plan/icicle";
import { kernelsByNode } from "../../data/plan/node_times";
import type { RunNodeTimes } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { groupTree } from "../../graph/boxes/groups";
import { isShown, overlay, panelTab } from "../display";
import { model } from "../model/model";
import { partitions, run } from "../run/run";
import { selection } from "../selection/selection";

const KEPT = 4;
const known = new Map<string, RunNodeTimes>();

/** The times of the kept run; null where it has none, or they are not there yet. */
export const nodeTimes = signal<RunNodeTimes | null>(null);

/** The kernel of each node of the shown plan. */
export const kernels = computed(() => kernelsByNode(nodeTimes.value, partitions.value));

/** The part of the icicle that is as wide as all, by its key; empty for the whole model. */
export const zoomedPart = signal("");

const isWanted = computed(() => overlay.value === "cost" || isShown("time") || (panelTab.value === "why" && selection.value.kind !== "none"));
const wantedRun = computed(() => (isWanted.value && run.value && hasEnded(run.value) && run.value.plan ? run.value.id : null));

/** Keep `nodeTimes` in step with the run and with what the page displays. */
export function watchNodeTimes(): void {
  effect(() => {
    const id = wantedRun.value;
    const data = id === null ? undefined : known.get(id);
    if (id !== nodeTimes.peek()?.run) nodeTimes.value = data ?? null;
    if (id !== null && !data) void load(id);
  });
}

/** A run without a record has no times; nothing else is lost with them, so no error is shown. */
async function load(id: string): Promise<void> {
  const data = await api.nodeTimes(id).catch((): RunNodeTimes => ({ run: id, partitions: [], alone_s: {} }));
  known.set(id, data);
  const oldest = known.keys().next().value;
  if (known.size > KEPT && oldest !== undefined) known.delete(oldest);
  if (wantedRun.peek() === id) nodeTimes.value = data;
}

/** The icicle of the shown plan, by the repeats of the model, or else its scopes; null without a plan. */
export const timeTree = computed((): Part | null => {
  const opened = model.value;
  const plan = run.value?.plan;
  if (!opened || !plan) return null;
  const trees = (["repeats", "scopes"] as const).map((by) => groupTree(by, opened.groups, []));
  const blocks = trees.find((tree) => tree.roots.length > 1)?.roots ?? [];
  return icicle(opened.info.name, plan, kernels.value, blocks, opened.graph.nodes);
});
