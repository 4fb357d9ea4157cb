// Compares two plans: the shown plan, a run, the plan before, or a baseline. A plan is chosen by a reference: empty for the shown plan,
// `baseline:<name>` for a baseline of the shown run, `own:<n>` for one that the user gave, else the id of a run.

import { batch, computed, effect, signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import { differenceOf, type Difference } from "../../data/overlays/difference";
import { baselineName, isAlone } from "../../data/plan/baselines";
import { shownPlan } from "../../data/plan/shown_plan";
import type { ApiError, PlanInfo, PlanTime, RunSnapshot, RunSummary, ShownPlan, TwoPlans } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { isShown, overlay } from "../display";
import { model } from "../model/model";
import { isOtherPlan, keptRun, run } from "../run/run";
import { plannedRuns } from "../run/runs";
import { runBefore } from "./decisions";
import { OWN, ownPlan } from "./own_plan";

export const BASELINE = "baseline:";

/** One of the two plans. */
export interface Side {
  name: string;
  plan: PlanInfo;
  time: PlanTime | null;
  /** The run in which it was timed end to end; empty where it was not. */
  run: string;
  /** It is the plan that `run` decided on. */
  isPlan: boolean;
}

export type SideState = { kind: "none" } | { kind: "loading" } | { kind: "ready"; side: Side } | { kind: "failed"; error: ApiError };

/** The reference of the first plan. */
export const planRef = signal("");
const chosenAgainst = signal<string | null>(null);

const isComparing = computed(() => overlay.value === "difference" || isShown("compare"));

/** The reference of the second plan: the chosen one, else the kept plan beside a what-if, the plan before, or the best single target. */
export const againstRef = computed(() => {
  if (chosenAgainst.value !== null) return chosenAgainst.value;
  if (isOtherPlan.value && run.value) return run.value.id;
  return runBefore.value?.plan ? runBefore.value.id : (bestAlone(run.value) ?? "");
});

function bestAlone(current: RunSnapshot | null): string | null {
  const known = (current?.baselines ?? []).filter((one) => one.total_s !== null && isAlone(one.name));
  const others = known.filter((one) => current?.plan?.partitions.some((partition) => partition.target !== one.name && partition.target !== "host"));
  const usable = others.length > 0 ? others : known;
  const best = usable.find((one) => one.name === current?.verdict?.against) ?? usable[0];
  return best ? BASELINE + best.name : null;
}

/** Choose the two plans. */
export function compare(plan: string, against: string | null): void {
  batch(() => {
    planRef.value = plan;
    chosenAgainst.value = against;
  });
}

/** The chosen second plan; null where the page chooses. */
export const givenAgainst = computed(() => chosenAgainst.value);

/** The name of one of the two plans on the page. */
export function sideName(ref: string, side: Side): string {
  if (ref !== "" && ref === runBefore.value?.id && ref !== run.value?.id) return "the plan before";
  return plannedRuns.value.find((one) => one.id === ref)?.name || side.name;
}

/** A plan as the server compares it with that of the other reference: a run's beside a given one has the time that was taken in turns with it. */
function shownSide(side: Side, ref: string, otherRef: string): ShownPlan {
  const given = ownPlan(otherRef)?.measured;
  if (given && (ref === "" || ref === run.peek()?.id)) return shownPlan(side.plan, given.beside.time, given.run);
  return shownPlan(side.plan, side.time, side.run, side.isPlan);
}

/** Exchange the two plans. */
export function swapSides(): void {
  compare(againstRef.peek(), planRef.peek());
}

export const planSide = signal<SideState>({ kind: "none" });
export const againstSide = signal<SideState>({ kind: "none" });

/** The answer of the server about both plans; null while it is not known. */
const answered = signal<{ plan: Side; against: Side; found: TwoPlans } | null>(null);
export const comparisonError = signal<ApiError | null>(null);

/** The difference between the two plans; null while one of them is missing, or it is not known. */
export const planDifference = computed((): Difference | null => {
  const [plan, against, last] = [planSide.value, againstSide.value, answered.value];
  if (plan.kind !== "ready" || against.kind !== "ready" || last?.plan !== plan.side || last.against !== against.side) return null;
  return differenceOf(plan.side.plan, against.side.plan, last.found);
});

async function compareSides(plan: Side, against: Side): Promise<void> {
  const isWanted = (): boolean => {
    const [first, second] = [planSide.peek(), againstSide.peek()];
    return first.kind === "ready" && second.kind === "ready" && first.side === plan && second.side === against;
  };
  const refs = [planRef.peek(), againstRef.peek()] as const;
  const names = refs.map((ref) => (ref.startsWith(BASELINE) ? ref.slice(BASELINE.length) : "this plan")).join("/");
  try {
    const found = await api.compare(names, { first: shownSide(plan, refs[0], refs[1]), second: shownSide(against, refs[1], refs[0]) });
    if (isWanted()) batch(() => ((answered.value = { plan, against, found }), (comparisonError.value = null)));
  } catch (error) {
    if (isWanted()) comparisonError.value = asApiError(error);
  }
}

const known = new Map<string, Side>();
const KEPT = 24;

/** Keep both sides in step with the chosen plans, while something shows them. */
export function watchCompare(): void {
  effect(() => watchSide(planRef.value, planSide));
  effect(() => watchSide(againstRef.value, againstSide));
  effect(() => {
    const [plan, against] = [planSide.value, againstSide.value];
    comparisonError.value = null;
    if (plan.kind === "ready" && against.kind === "ready") void compareSides(plan.side, against.side);
  });
  let opened: string | undefined;
  effect(() => {
    const id = model.value?.info.id;
    if (opened !== undefined && id !== opened) compare("", null);
    opened = id;
  });
}

type Target = typeof planSide;

function watchSide(ref: string, into: Target): void {
  const current = run.value;
  if (!isComparing.value || !current || !hasEnded(current)) {
    into.value = { kind: "none" };
    return;
  }
  const own = ref === "" ? current : ref === current.id ? keptRun.value : null;
  if (own) {
    const name = own === keptRun.value ? (isOtherPlan.value ? "the kept plan" : "this plan") : "what if";
    into.value = own.plan ? { kind: "ready", side: sideOf(own, name) } : { kind: "none" };
    return;
  }
  if (ref.startsWith(OWN)) {
    into.value = ownSide(ref);
    return;
  }
  const key = ref.startsWith(BASELINE) ? `${current.id} ${ref}` : ref;
  const side = known.get(key);
  into.value = side ? { kind: "ready", side } : { kind: "loading" };
  if (!side) void load(ref, key, current, into);
}

function ownSide(ref: string): SideState {
  const given = ownPlan(ref);
  if (given) return { kind: "ready", side: { name: given.answer.name, plan: given.answer.plan, time: given.measured?.own ?? given.answer.time, run: given.measured?.run ?? "", isPlan: given.measured !== null } };
  return { kind: "failed", error: { code: "own_plan", message: "that plan of your own is not here any more", hint: "give it again, or choose another plan" } };
}

async function load(ref: string, key: string, current: RunSnapshot, into: Target): Promise<void> {
  const isWanted = (): boolean => (into === planSide ? planRef : againstRef).peek() === ref && run.peek()?.id === current.id && isComparing.peek();
  try {
    const side = await fetched(ref, current);
    known.set(key, side);
    const oldest = known.keys().next().value;
    if (known.size > KEPT && oldest !== undefined) known.delete(oldest);
    if (isWanted()) into.value = { kind: "ready", side };
  } catch (error) {
    if (isWanted()) into.value = { kind: "failed", error: asApiError(error) };
  }
}

async function fetched(ref: string, current: RunSnapshot): Promise<Side> {
  if (ref.startsWith(BASELINE)) {
    const name = ref.slice(BASELINE.length);
    const [{ plan }, { rows }] = await Promise.all([api.baselinePlan(current.id, name), api.totals(current.id)]);
    return { name: baselineName(name), plan, time: rows.find((row) => row.name === name)?.time ?? null, run: current.id, isPlan: false };
  }
  const other = await api.run(ref);
  const mistake = whyNot(other, current);
  if (mistake !== null) throw Object.assign(new Error(mistake), { hint: "choose another one" });
  return sideOf(other, runName(other));
}

function whyNot(other: RunSnapshot, current: RunSnapshot): string | null {
  if (other.model !== current.model) return `that run is one of the model ${other.model_name}`;
  return other.plan ? null : "that run has no plan";
}

function sideOf(current: RunSnapshot, name: string): Side {
  if (!current.plan) throw new Error("the run has no plan");
  return { name, plan: current.plan, time: current.time, run: current.id, isPlan: current === keptRun.peek() || current.id !== keptRun.peek()?.id };
}

/** A run in few words: its name, or else its time and its number of constraints. */
export function runName(one: Pick<RunSummary, "created" | "state" | "targets"> & { constraints: number | unknown[]; name?: string }): string {
  if (one.name) return one.name;
  const pins = typeof one.constraints === "number" ? one.constraints : one.constraints.length;
  const when = new Date(one.created);
  const time = Number.isNaN(when.getTime()) ? one.created : when.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
  return [one.state === "recorded" ? "recorded" : `run of ${time}`, pins > 0 ? `${pins} ${pins === 1 ? "constraint" : "constraints"}` : ""].filter(Boolean).join(", ");
}
