// The table of all candidates of the shown run: fetched when something needs it, and cached for the last few runs.

import { computed, effect, signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import type { ApiError, RunCandidates } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { isShown, listedRule, overlay } from "../display";
import { run } from "../run/run";

export type TableState = { kind: "none" } | { kind: "loading" } | { kind: "ready"; data: RunCandidates } | { kind: "failed"; error: ApiError };

const KEPT = 4;
const known = new Map<string, RunCandidates>();

export const table = signal<TableState>({ kind: "none" });

/** The table; null until it is there. */
export const tableData = computed(() => (table.value.kind === "ready" ? table.value.data : null));

const isWanted = computed(
  () => overlay.value === "coverage" || isShown("costs", "charts") || (isShown("rules") && listedRule.value !== null),
);

/** The run whose table is needed; null for none. A run that goes on has no table yet. */
const wantedRun = computed(() => (isWanted.value && run.value && hasEnded(run.value) && run.value.plan ? run.value.id : null));

/** Keep `table` in step with the run and with what the page displays. */
export function watchTable(): void {
  effect(() => {
    const id = wantedRun.value;
    if (id === null) {
      table.value = { kind: "none" };
      return;
    }
    const data = known.get(id);
    table.value = data ? { kind: "ready", data } : { kind: "loading" };
    if (!data) void load(id);
  });
}

async function load(id: string): Promise<void> {
  try {
    const data = await api.candidateTable(id);
    known.set(id, data);
    const oldest = known.keys().next().value;
    if (known.size > KEPT && oldest !== undefined) known.delete(oldest);
    if (wantedRun.peek() === id) table.value = { kind: "ready", data };
  } catch (error) {
    if (wantedRun.peek() === id) table.value = { kind: "failed", error: asApiError(error) };
  }
}
