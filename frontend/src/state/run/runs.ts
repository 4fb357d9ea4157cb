// The list of all kept runs. It is fetched while something shows it, and again when another run is shown or the shown one has ended.

import { computed, effect, signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import type { ApiError, RunMarks, RunSummary } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { filteredRuns, orderedRuns, reorderedRuns, type RunColumn, type RunFilter, type RunOrder } from "../../data/tables/run_rows";
import { isShown, overlay } from "../display";
import { model } from "../model/model";
import { run } from "./run";

/** The runs, newest first; null until they are known. */
export const runs = signal<readonly RunSummary[] | null>(null);
/** The error of the last action on a run; null where it did not fail. */
export const runsError = signal<ApiError | null>(null);

export const runFilter = signal<RunFilter>({ text: "", isStarredOnly: false, isEveryModel: false });
export const runOrder = signal<RunOrder>({ by: "when", isDown: true });

const NONE: readonly RunSummary[] = [];
const kept = computed(() => filteredRuns(runs.value ?? NONE, runFilter.value, model.value?.info.id));
/** The runs that the filter keeps, in their order. */
export const runRows = computed(() => orderedRuns(kept.value, runOrder.value));
/** The runs of the open model that have a plan, newest first. */
export const plannedRuns = computed(() => (runs.value ?? NONE).filter((one) => one.model === model.value?.info.id && one.total_s !== null));

export function changeRunFilter(change: Partial<RunFilter>): void {
  runFilter.value = { ...runFilter.value, ...change };
}

export function sortRuns(by: RunColumn): void {
  runOrder.value = reorderedRuns(runOrder.value, by);
}

const isWanted = computed(() => overlay.value === "difference" || isShown("runs", "compare", "charts"));
/** A value that changes when the list may have changed: another run is shown, or the shown run has another state. */
const stamp = computed(() => (run.value ? `${run.value.id} ${run.value.state} ${String(hasEnded(run.value))}` : ""));

/** Keep the list in step with what is shown. */
export function watchRuns(): void {
  effect(() => {
    void stamp.value;
    if (isWanted.value && model.value) void loadRuns();
  });
}

let newest = 0;

/** Fetch the list anew, such as after a run ended beside the shown one. */
export async function loadRuns(): Promise<void> {
  const mine = ++newest;
  try {
    const list = await api.runs();
    if (mine === newest) runs.value = list.runs;
  } catch (error) {
    if (mine === newest) runsError.value = asApiError(error);
  }
}

/** Give a run a name, a note or a star; its row is then as the server has it. */
export async function markRun(id: string, change: Partial<RunMarks>): Promise<void> {
  try {
    const row = await api.markRun(id, change);
    newest += 1;
    runs.value = (runs.value ?? NONE).map((one) => (one.id === id ? row : one));
    runsError.value = null;
  } catch (error) {
    runsError.value = asApiError(error);
  }
}

/** Delete a run for good, and return whether that worked. */
export async function deleteRun(id: string): Promise<boolean> {
  try {
    runToDelete.value = null;
    await api.deleteRun(id);
    newest += 1;
    runs.value = (runs.value ?? NONE).filter((one) => one.id !== id);
    runsError.value = null;
    return true;
  } catch (error) {
    runsError.value = asApiError(error);
    return false;
  }
}

/** The run whose name and note are being edited, and the texts of the two fields; null for none. */
export const edited = signal<{ id: string; name: string; note: string } | null>(null);
/** The run whose deletion the user is asked to confirm; null for none. */
export const runToDelete = signal<string | null>(null);

export function startEditing(row: RunSummary): void {
  runToDelete.value = null;
  edited.value = { id: row.id, name: row.name, note: row.note };
}

/** Save the edited name and note. */
export function finishEditing(): void {
  const now = edited.value;
  if (!now) return;
  edited.value = null;
  void markRun(now.id, { name: now.name, note: now.note });
}
