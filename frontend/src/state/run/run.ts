// The run on the page: the kept run, which is followed while it goes on, and the plan of a what-if on its costs.

import { batch, computed, signal } from "@preact/signals";
import { during } from "../../base/idle";
import { api, asApiError } from "../../data/api";
import type { ApiError, PlanPartition, RunSnapshot, WhatIf } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { showDrawer } from "../display";
import { chosenTargets } from "../model/catalogue";
import { followRun } from "./stream";

/** The run that was opened or started, as the server has it; null where there is none. */
export const keptRun = signal<RunSnapshot | null>(null);
/** The best plan under a decision that is neither kept nor discarded yet; null where there is none. */
export const whatIf = signal<WhatIf | null>(null);
/** True if a what-if shows another plan than the kept one: its terms may ask for nothing that the kept plan does not have. */
export const isOtherPlan = computed(() => whatIf.value !== null && !whatIf.value.keeps_plan);
/** Fields in which a run speaks of its own plan, and of no other one. */
const NOT_KNOWN = { verify: null, verdict: null, decided_by: null, alternatives: [], artifact: false, budget: null } satisfies Partial<RunSnapshot>;

/** The run that is shown: the kept run, or the kept run with another plan of the what-if: nothing of that is built, verified or undecided. */
export const run = computed((): RunSnapshot | null => {
  const [kept, answer] = [keptRun.value, whatIf.value];
  if (!kept || !answer?.plan || !isOtherPlan.value) return kept;
  const { plan, optimal, time } = answer;
  return { ...kept, plan, optimal, time, best_s: plan.total_s, lower_bound_s: optimal ? plan.total_s : null, ...NOT_KNOWN };
});
/** The error of a request that failed (start, cancel, export), shown until the user dismisses it. */
export const runError = signal<ApiError | null>(null);
/** The accuracy of the next run as the user typed it; empty for the model's default. */
export const accuracyText = signal("");
/** The run that was requested, until the server has answered; null where none is awaited. */
export const starting = signal<Promise<RunSnapshot> | null>(null);

/** The targets that a decision may name: those of which the run has costs, else those of the next run. */
export const targetsToDecide = computed((): readonly string[] => {
  const known = keptRun.value?.counts.map((one) => one.name) ?? [];
  return known.length > 0 ? known : chosenTargets.value;
});

export const isActive = computed(() => starting.value !== null || (run.value !== null && !hasEnded(run.value)));

const NO_PARTITIONS: readonly PlanPartition[] = [];

/** The partitions of the shown plan; the same array as long as the plan is the same, however often the run is updated. */
export const partitions = computed(() => run.value?.plan?.partitions ?? NO_PARTITIONS);

/** The partition of each node in the shown plan. */
export const partitionOf = computed(() => {
  const found = new Map<number, PlanPartition>();
  for (const partition of partitions.value) for (const node of partition.nodes) found.set(node, partition);
  return found;
});

let unfollow: (() => void) | undefined;

/** Show a run, and follow it while it goes on. */
export function showRun(snapshot: RunSnapshot): void {
  unfollow?.();
  unfollow = undefined;
  batch(() => {
    keptRun.value = snapshot;
    whatIf.value = null;
    runError.value = null;
  });
  if (!hasEnded(snapshot)) unfollow = followRun(snapshot, followed, (error) => (runError.value = error));
}

function followed(next: RunSnapshot): void {
  keptRun.value = next;
  if (next.error) showDrawer("search"); // which says what failed, and what is kept
}

export function clearRun(): void {
  unfollow?.();
  unfollow = undefined;
  batch(() => {
    keptRun.value = null;
    whatIf.value = null;
    runError.value = null;
  });
}

/** Stop the run that was requested last, or else the shown one; its measurements are kept. */
export async function cancelRun(): Promise<void> {
  await cancelOnceStarted(starting.peek() ?? run.peek());
}

/** Cancel a run, also one that the server has not answered yet: no click is lost. A request that fails is told by who made it. */
export async function cancelOnceStarted(requested: Promise<RunSnapshot> | RunSnapshot | null): Promise<void> {
  const started = await Promise.resolve(requested).catch(() => null);
  if (!started || hasEnded(started)) return;
  try {
    await api.cancelRun(started.id);
  } catch (error) {
    runError.value = asApiError(error);
  }
}

/**
 * Wait for the end of a run, which is followed beside the shown one; the page is not idle before. Rejects with the error where the
 * run cannot be followed.
 */
export function ended(snapshot: RunSnapshot, watched?: (snapshot: RunSnapshot) => void): Promise<RunSnapshot> {
  if (hasEnded(snapshot)) return Promise.resolve(snapshot);
  const over = new Promise<RunSnapshot>((resolve, reject) => {
    let isOver = false; // no state after the end is watched
    followRun(
      snapshot,
      (next) => {
        if (isOver) return;
        isOver = hasEnded(next);
        watched?.(next);
        if (isOver) resolve(next);
      },
      (error) => reject(Object.assign(new Error(error.message), error)),
    );
  });
  return during(`run ${snapshot.id}`, over);
}
