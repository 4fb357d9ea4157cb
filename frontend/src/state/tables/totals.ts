// The totals of the kept run: fetched when the tab that shows them is open.

import { computed, signal } from "@preact/signals";
import { api } from "../../data/api";
import type { RunTotals } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { isShown } from "../display";
import { keepAnswered } from "../plan/answer_for";
import { keptRun } from "../run/run";

/** The totals of the kept run; null while they are not known. */
export const totals = signal<RunTotals | null>(null);

const wantedRun = computed(() => {
  const kept = keptRun.value;
  // An artifact that was built once more brings other times.
  return isShown("totals") && kept?.plan && hasEnded(kept) ? { id: kept.id, measuredS: kept.time?.measured_s } : null;
});

/** Keep `totals` in step with the run and with what the page displays. */
export function watchTotals(): void {
  keepAnswered(wantedRun, totals, ({ id }) => api.totals(id));
}
