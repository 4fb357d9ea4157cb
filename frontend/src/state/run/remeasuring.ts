// Measures one candidate again, as a run of its own beside the shown one; its costs and plan are shown when it has ended.

import { computed, signal } from "@preact/signals";
import { duration } from "../../base/format";
import { api, asApiError } from "../../data/api";
import { isReport } from "../../data/config";
import { planOfRun } from "../../data/plan/shown_plan";
import type { CostedRow, RunSnapshot } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { goOnFrom } from "../plan/decisions";
import { cancelOnceStarted, ended, run, runError, whatIf } from "./run";

export interface Remeasuring {
  /** The run that measures, once the server has answered. */
  requested: Promise<RunSnapshot>;
  label: string;
  target: string;
  phase: string;
}

export const remeasuring = signal<Remeasuring | null>(null);
/** The outcome of the last one in words, and the run with which it is shown. */
const last = signal({ run: "", text: "" });
/** The outcome in words, where its run is shown; else empty. */
export const remeasured = computed(() => (last.value.run === run.value?.id ? last.value.text : ""));

/** Why no candidate of the shown run can be measured again; null where one can. The server may still refuse. */
export const cannotMeasure = computed((): string | null => {
  if (isReport) return "nothing is measured in a report";
  const current = run.value;
  if (!current?.plan || !hasEnded(current)) return "there is no finished run";
  if (whatIf.value) return "a what-if is open: keep or discard its plan first";
  return current.recorded ? `the costs are from ${current.machine || "another machine"}: run it here first` : null;
});

const PHASE_TEXT: Record<string, string> = { load: "reading the model", costs: "building and timing", search: "searching with the new cost" };

/** Measure a candidate of the shown run again, and show the plan that is best then. */
export async function measureAgain(row: CostedRow): Promise<void> {
  const base = run.peek();
  if (!base?.plan || remeasuring.peek()) return;
  const about = { label: row.label, target: row.target };
  last.value = { run: "", text: "" };
  const requested = api.startRun({ model: base.model, targets: base.targets, base: base.id, measure: row.id });
  remeasuring.value = { ...about, requested, phase: "waiting" };
  try {
    const started = await requested;
    const tell = (now: RunSnapshot): void => void (remeasuring.value = { ...about, requested, phase: PHASE_TEXT[now.phase ?? ""] ?? "waiting" });
    tell(started);
    await finish(base, row, await ended(started, tell));
  } catch (error) {
    runError.value = asApiError(error);
  } finally {
    remeasuring.value = null;
  }
}

/** Show the result, unless another run was opened meanwhile; then it is only in the list of runs. */
async function finish(base: RunSnapshot, row: CostedRow, result: RunSnapshot): Promise<void> {
  if (result.state === "cancelled") {
    last.value = { run: base.id, text: "Cancelled; the old cost stays." };
  } else if (!result.plan || result.state === "failed") {
    runError.value = result.error ?? { code: "failed", message: "it could not be measured", hint: "" };
  } else {
    const change = await api.compare("", { first: planOfRun(result), second: planOfRun(base) });
    const before = row.cost.seconds === null ? row.cost.source : duration(row.cost.seconds);
    const text = `${row.label} on ${row.target} was measured again; it was ${before} before. The best plan against the one before: ${change.text}.`;
    last.value = { run: result.id, text };
    if (run.peek()?.id === base.id) goOnFrom(result);
  }
}

export async function stopMeasuring(): Promise<void> {
  await cancelOnceStarted(remeasuring.peek()?.requested ?? null);
}
