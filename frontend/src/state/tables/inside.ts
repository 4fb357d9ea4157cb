// How long the partitions of the shown run take inside the whole, measured when the user asks.

import { computed, signal } from "@preact/signals";
import { api } from "../../data/api";
import type { InsideTime, InsideTimes } from "../../data/protocol";
import { Asking } from "../asking";
import { isOtherPlan, keptRun, run } from "../run/run";

const found = signal<InsideTimes | null>(null);
const asking = new Asking();
export const { isBusy: isProfiling, error: profileError } = asking;

/** The times inside the whole of the plan that is shown; null where they were not measured, or a what-if shows another plan. */
export const inside = computed(() => (!isOtherPlan.value && found.value?.run === keptRun.value?.id ? found.value : null));

/** Partition's id → its time; several that are timed together share one. */
export const insideOf = computed(() => new Map((inside.value?.partitions ?? []).flatMap((row): [string, InsideTime][] => row.id.split("+").map((id) => [id, row]))));

/** Why they cannot be measured; empty where they can. */
export const whyNoProfile = computed(() => (isOtherPlan.value ? "a what-if is open: keep or discard its plan first" : run.value?.artifact ? "" : "there is no artifact to run: Export builds it"));

/** Run the artifact of the shown run, and keep how long its partitions take. */
export async function profileRun(): Promise<void> {
  const current = run.peek();
  if (!current || whyNoProfile.peek() !== "") return;
  found.value = (await asking.ask(() => api.profile(current.id))) ?? found.peek();
}
