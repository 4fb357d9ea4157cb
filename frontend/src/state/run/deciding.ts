// What measuring left undecided in the shown run, asked for by the user; and further measuring of it, as a run of its own.

import { computed, signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import { planOfRun } from "../../data/plan/shown_plan";
import type { RunSnapshot, RunUndecided } from "../../data/protocol";
import { Asking } from "../asking";
import { goOnFrom } from "../plan/decisions";
import { cancelOnceStarted, ended, run } from "./run";

const found = signal<RunUndecided | null>(null);
/** The undecided choices of the shown run; null until the user asked. */
export const undecided = computed(() => (found.value?.run === run.value?.id ? found.value : null));
const asking = new Asking();
export const { isBusy: isLookingUp, error: decidingError } = asking;
/** The run that measures on, and its phase; null while none does. */
export const measuringOn = signal<{ requested: Promise<RunSnapshot>; phase: string } | null>(null);
const last = signal({ run: "", text: "" });
/** The outcome of the last measuring in words, where its run is shown; else empty. */
export const decidedText = computed(() => (last.value.run === run.value?.id ? last.value.text : ""));

/** Ask what is undecided in the shown run. */
export async function askUndecided(): Promise<void> {
  const current = run.peek();
  if (!current?.plan) return;
  found.value = (await asking.ask(() => api.undecided(current.id))) ?? found.peek();
}

/** Measure what is undecided in the shown run for some seconds, and show the plan that is best then. */
export async function measureUndecided(seconds: number): Promise<void> {
  const base = run.peek();
  if (!base?.plan || measuringOn.peek()) return;
  decidingError.value = null;
  const requested = api.startRun({ model: base.model, targets: base.targets, base: base.id, decide_s: seconds });
  measuringOn.value = { requested, phase: "waiting" };
  try {
    const started = await requested;
    await finish(base, await ended(started, (now) => void (measuringOn.value = { requested, phase: now.phase ?? "waiting" })));
  } catch (error) {
    decidingError.value = asApiError(error);
  } finally {
    measuringOn.value = null;
  }
}

async function finish(base: RunSnapshot, result: RunSnapshot): Promise<void> {
  if (result.state === "cancelled") return;
  if (!result.plan || result.state === "failed") {
    decidingError.value = result.error ?? { code: "failed", message: "it could not be measured", hint: "" };
    return;
  }
  const ids = (one: RunSnapshot): string => (one.plan?.partitions ?? []).map((part) => part.id).sort().join();
  const { text } = await api.compare("", { first: planOfRun(result), second: planOfRun(base) });
  last.value = { run: result.id, text: `${ids(base) === ids(result) ? "Measured on, and the plan stays" : "Measured on, and another plan is best now"}; its time against the one before: ${text}.` };
  if (run.peek()?.id === base.id) goOnFrom(result);
}

export async function stopMeasuringOn(): Promise<void> {
  await cancelOnceStarted(measuringOn.peek()?.requested ?? null);
}
