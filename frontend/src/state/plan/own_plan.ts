// Plans of the user's own, which are compared with that of a run: each was given as text, and costed by the server. They live as long as
// the page.

import { signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import { parseDevices } from "../../data/plan/own_plan";
import type { CostedPlan, AgainstRequest, PlanTime, RunSnapshot, TotalRow } from "../../data/protocol";
import { Asking } from "../asking";
import { cancelOnceStarted, ended, run } from "../run/run";
import { loadRuns } from "../run/runs";

export const OWN = "own:";

/** A given plan, by the reference under which it is compared. */
export interface OwnPlan {
  ref: string;
  given: Required<AgainstRequest>;
  answer: CostedPlan;
  /** The run in which both plans were timed end to end in turns: its time, and the row of the other plan; null where there is none. */
  measured: { run: string; own: PlanTime; beside: TotalRow } | null;
}

export const ownPlans = signal<readonly OwnPlan[]>([]);
const asking = new Asking();
export const { isBusy: isCosting, error: ownPlanError } = asking;

let count = 0;

/** Cost a plan on what the shown run knows; the answer is its reference, or null where it cannot be costed. */
export async function giveOwnPlan(text: string, name: string, devicesText: string): Promise<string | null> {
  const current = run.peek();
  if (!current || isCosting.peek()) return null;
  const read = parseDevices(devicesText);
  if ("mistake" in read || text.trim() === "") {
    const message = "mistake" in read ? read.mistake : "no plan was given";
    ownPlanError.value = { code: "own_plan", message, hint: "mistake" in read ? "such as CPU=openvino" : "paste one, or choose a file" };
    return null;
  }
  const given = { text, name, devices: read.devices };
  const answer = await asking.ask(() => api.against(current.id, given));
  if (answer === null) return null;
  const ref = `${OWN}${++count}`;
  ownPlans.value = [...ownPlans.peek(), { ref, given, answer, measured: null }];
  return ref;
}

/** The given plan of a reference; undefined where the page has none, such as after it was loaded again. */
export function ownPlan(ref: string): OwnPlan | undefined {
  return ownPlans.value.find((one) => one.ref === ref);
}

/** The run that measures a given plan, once the server has answered, and its phase; null while none does. */
export const measuringOwn = signal<{ ref: string; requested: Promise<RunSnapshot>; phase: string } | null>(null);

/** Measure what is not known of a given plan, then it and the plan of the shown run whole, as a run of its own. */
export async function measureOwnPlan({ ref, given }: OwnPlan): Promise<void> {
  const base = run.peek();
  if (!base?.plan || measuringOwn.peek()) return;
  ownPlanError.value = null;
  const requested = api.startRun({ model: base.model, targets: base.targets, base: base.id, own_plan: { ...given } });
  measuringOwn.value = { ref, requested, phase: "waiting" };
  try {
    const started = await requested;
    await ended(started, (now) => void (measuringOwn.value = { ref, requested, phase: now.phase ?? "waiting" }));
    await finish(ref, await api.run(started.id)); // with all that only the final snapshot says of the comparison
  } catch (error) {
    ownPlanError.value = asApiError(error);
  } finally {
    measuringOwn.value = null;
    void loadRuns();
  }
}

async function finish(ref: string, result: RunSnapshot): Promise<void> {
  if (result.state === "cancelled") return;
  const { plan, time: own, id } = result;
  const isMeasured = result.state !== "failed" && plan !== null && own !== null && own.measured_s !== null;
  const beside = isMeasured ? (await api.totals(id)).rows.find((row) => row.kind !== "plan" && row.time.measured_s !== null) : undefined;
  if (!isMeasured || !beside) {
    ownPlanError.value = result.error ?? { code: "failed", message: "it could not be measured", hint: "" };
    return;
  }
  ownPlans.value = ownPlans.peek().map((one) => (one.ref === ref ? { ...one, measured: { run: id, own, beside }, answer: { ...one.answer, plan } } : one));
}

export async function stopMeasuringOwn(): Promise<void> {
  await cancelOnceStarted(measuringOwn.peek()?.requested ?? null);
}
