// The lines of the tab "Totals": the plan, what was timed end to end beside it and other baselines; and which decided, sum or whole.

import { duration } from "../../base/format";
import type { MeasuredPlan, RunSnapshot } from "../protocol";
import { measuredBeside, unknownCosts } from "./summary";

/** Plans that differ by no more than this share are as fast as each other, as in collage_core/pipeline/whole/finalists.py. */
const TIE = 0.01;

export interface TotalLine {
  name: string;
  kind: "plan" | "search" | "rival" | "baseline";
  sumS: number | null;
  sumIntervalS: number | null;
  measuredS: number | null;
  measuredIntervalS: number | null;
  rounds: number | null;
  reason: string;
}

/** The plan first, then the others, the fastest first. */
export function totalLines(run: RunSnapshot): TotalLine[] {
  const beside = measuredBeside(run);
  const isPredicted = run.plan !== null && unknownCosts(run.plan) === 0;
  const plan: TotalLine = {
    name: "this plan",
    kind: "plan",
    sumS: isPredicted ? (run.plan?.total_s ?? null) : null,
    sumIntervalS: isPredicted ? (run.plan?.total_interval_s ?? null) : null,
    measuredS: beside?.seconds ?? null,
    measuredIntervalS: beside?.intervalS ?? null,
    rounds: null,
    reason: run.plan && !isPredicted ? "some of its costs are not known" : "",
  };
  const measured = run.alternatives.map(lineOf);
  const known = new Set(run.alternatives.map((one) => one.name));
  const others = run.baselines.filter((one) => !known.has(one.name)).map((one) => lineOf({ ...one, kind: "baseline", interval_s: null, rounds: 0, is_plan: false, partitions: 0 }));
  return [plan, ...[...measured, ...others].sort(byTime)];
}

/** Those that were measured come first; within both groups the fastest. */
function byTime(a: TotalLine, b: TotalLine): number {
  if ((a.measuredS === null) !== (b.measuredS === null)) return a.measuredS === null ? 1 : -1;
  const order = (a.measuredS ?? a.sumS ?? Infinity) - (b.measuredS ?? b.sumS ?? Infinity);
  return Number.isNaN(order) ? 0 : order;
}

function lineOf(one: MeasuredPlan): TotalLine {
  return {
    name: one.kind === "search" ? "plan of the least sum" : one.name,
    kind: one.kind,
    sumS: one.total_s,
    sumIntervalS: null,
    measuredS: one.measured_s,
    measuredIntervalS: one.interval_s,
    rounds: one.rounds === 0 ? null : one.rounds,
    reason: one.reason,
  };
}

/** Which decided that the plan is the plan: the sum of the costs, or measuring the whole. Empty where nothing was timed end to end. */
export function decisionText(run: RunSnapshot): string {
  const { decided_by, alternatives, plan } = run;
  const planS = measuredBeside(run)?.seconds ?? null;
  if (decided_by === null || plan === null || planS === null) return "";
  const others = alternatives.filter((one) => !one.is_plan && one.measured_s !== null);
  if (decided_by === "sum") return `The sum of the costs decided: ${nextText(others, planS, ", which is not enough to tell the two apart")}.`;
  if (decided_by === "given") return givenText(alternatives, planS);
  const searched = alternatives.find((one) => one.kind === "search");
  // Over several shapes another plan was to take its place, which is no faster here.
  if (!searched) return `End-to-end timing decided for the plan of the least sum: ${nextText(others, planS)}.`;
  const text = `End-to-end timing decided: the sum of this plan is ${percent(plan.total_s, searched.total_s, "above", "below")} the least`;
  if (searched.measured_s === null) return `${text}, but the plan of the least sum is out: ${searched.reason}.`;
  const whole = `${percent(searched.measured_s, planS, "slower", "faster")} (${duration(searched.measured_s)})`;
  if (searched.measured_s > planS * (1 + TIE)) return `${text}, but timed end to end the plan of the least sum is ${whole}.`;
  const why = plan.partitions.length < searched.partitions ? "has fewer partitions" : "is of targets that come first";
  return `${text}, but timed end to end the two are not apart: that of the least sum is ${whole}, and this one ${why}.`;
}

/** How far the fastest of the other plans is from the plan, timed end to end; with `unsure` at the end where it is faster. */
function nextText(others: RunSnapshot["alternatives"], planS: number, unsure = ""): string {
  if (others.length === 0) return "no other plan was timed end to end";
  const next = Math.min(...others.map((one) => one.measured_s ?? Infinity));
  return `timed end to end, the next plan is ${percent(next, planS, "slower", "faster")}${next < planS ? unsure : ""}`;
}

/** The words for a plan that the user gave, beside which the plan of the run was measured. */
function givenText(alternatives: RunSnapshot["alternatives"], planS: number): string {
  const beside = alternatives.find((one) => !one.is_plan);
  const besideS = beside?.measured_s ?? null;
  const measured = beside && besideS !== null ? `: timed end to end, ${beside.name} is ${percent(besideS, planS, "slower", "faster")} (${duration(besideS)})` : "";
  return `The plan was given, and not searched for${measured}.`;
}

function percent(value: number, base: number | null, more: string, less: string): string {
  if (base === null || base === 0) return `not known to be ${more}`;
  const share = value / base - 1;
  return `${(100 * Math.abs(share)).toFixed(1)} % ${share >= 0 ? more : less}`;
}
