// Compares two plans: the shown plan, a run, the plan before, or a baseline. A plan is chosen by a reference: empty for the shown plan,
// `baseline:<name>` for a baseline of the shown run, `own:<n>` for one that the user gave, else the id of a run.

import { batch, computed, effect, signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import { differenceOf, type Difference } from "../../data/overlays/difference";
import { baselineName, isAlone } from "../../data/plan/baselines";
import { measuredBeside } from "../../data/plan/summary";
import type { ApiError, PlanInfo, RunSnapshot, RunSummary } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { drawerTab, isDrawerOpen, overlay } from "../display";
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
  /** The time measured end to end; null where it was not. */
  measuredS: number | null;
}

export type SideState = { kind: "none" } | { kind: "loading" } | { kind: "ready"; side: Side } | { kind: "failed"; error: ApiError };

/** The reference of the first plan. */
export const planRef = signal("");
const chosenAgainst = signal<string | null>(null);

const isComparing = computed(() => overlay.value === "difference" || (isDrawerOpen.value && drawerTab.value === "compare"));

/** The reference of the second plan: the chosen one, else the kept plan beside a what-if, the plan before, or the best single target. */
export const againstRef = computed(() => {
  if (chosenAgainst.value !== null) return chosenAgainst.value;
  if (isOtherPlan.value && run.value) return run.value.id;
  return runBefore.value?.plan ? runBefore.value.id : (bestAlone(run.value) ?? "");
});

function bestAlone(current: RunSnapshot | null): string | null {
  const known = (current?.baselines ?? []).filter((one) => one.total_s !== null && isAlone(one.name));
  const others = known.filter((one) => current?.plan?.partitions.some((partition) => partition.target !== one.name && partition.target !== "host"));
  const best = [...(others.length > 0 ? others : known)].sort((a, b) => (a.total_s ?? 0) - (b.total_s ?? 0))[0];
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

/** The measured times of both plans: where one was given and measured, those that were taken in turns with it. */
export function measuredTimes(plan: Side, against: Side): [number | null, number | null] {
  const [given, turned] = [ownPlan(againstRef.value)?.measured, ownPlan(planRef.value)?.measured];
  const isOf = (ref: string): boolean => ref === "" || ref === run.value?.id;
  if (given && isOf(planRef.value)) return [given.besideS, given.ownS];
  if (turned && isOf(againstRef.value)) return [turned.ownS, turned.besideS];
  return [plan.measuredS, against.measuredS];
}

/** Exchange the two plans. */
export function swapSides(): void {
  compare(againstRef.peek(), planRef.peek());
}

export const planSide = signal<SideState>({ kind: "none" });
export const againstSide = signal<SideState>({ kind: "none" });

/** The difference between the two plans; null while one of them is missing. */
export const planDifference = computed((): Difference | null => {
  const [plan, against] = [planSide.value, againstSide.value];
  return plan.kind === "ready" && against.kind === "ready" ? differenceOf(plan.side.plan, against.side.plan) : null;
});

const known = new Map<string, Side>();
const KEPT = 24;

/** Keep both sides in step with the chosen plans, while something shows them. */
export function watchCompare(): void {
  effect(() => watchSide(planRef.value, planSide));
  effect(() => watchSide(againstRef.value, againstSide));
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
  if (given) return { kind: "ready", side: { name: given.answer.name, plan: given.answer.plan, measuredS: given.measured?.ownS ?? null } };
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
    const { plan } = await api.baselinePlan(current.id, name);
    const measuredS = current.baselines.find((one) => one.name === name)?.measured_s ?? null;
    return { name: baselineName(name), plan, measuredS };
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
  return { name, plan: current.plan, measuredS: measuredBeside(current)?.seconds ?? null };
}

/** A run in few words: its name, or else its time and its number of constraints. */
export function runName(one: Pick<RunSummary, "created" | "state" | "targets"> & { constraints: number | unknown[]; name?: string }): string {
  if (one.name) return one.name;
  const pins = typeof one.constraints === "number" ? one.constraints : one.constraints.length;
  const when = new Date(one.created);
  const time = Number.isNaN(when.getTime()) ? one.created : when.toLocaleString("en-GB", { dateStyle: "medium", timeStyle: "medium" });
  return [one.state === "recorded" ? "recorded" : `run of ${time}`, pins > 0 ? `${pins} ${pins === 1 ? "constraint" : "constraints"}` : ""].filter(Boolean).join(", ");
}
