// Summaries of plans: what a decision changed, the headline of a run, and the total by target. Pure.

import type { Baseline, PlanInfo, RunSnapshot } from "../protocol";
import { isAlone } from "./baselines";

export interface PlanChange {
  /** The ids of those partitions of the new plan that the old one does not have. */
  changed: ReadonlySet<string>;
  /** How the times compare, as the server says it of a what-if; empty where it was not asked. */
  text: string;
}

/** The number of partitions of a plan whose cost is not known: its total is the sum of the others, and no prediction. */
export function unknownCosts({ partitions }: Pick<PlanInfo, "partitions">): number {
  return partitions.filter((partition) => partition.cost_s === null).length;
}

/** The change from one plan to another. */
export function planChange(before: PlanInfo, after: PlanInfo, text = ""): PlanChange {
  const key = (partition: { target: string; nodes: number[] }): string => `${partition.target}:${partition.nodes.join()}`;
  const old = new Set(before.partitions.map(key));
  return { changed: new Set(after.partitions.filter((partition) => !old.has(key(partition))).map((partition) => partition.id)), text };
}

export interface Headline {
  totalS: number;
  /** The fastest target that runs the whole model alone; null where none can, or the total is not to be compared. */
  alone: { name: string; totalS: number } | null;
  /** True if both totals are measured, the whole end to end; else both are predicted, as sums of costs. */
  isMeasured: boolean;
  /** The costs of the plan that are not known, where the total is predicted: it leaves them out. */
  unknown: number;
}

/** The time of the plan, measured end to end beside the baselines, with its interval; null where it was not, or by itself alone. */
export function measuredBeside({ verify, alternatives }: Pick<RunSnapshot, "verify" | "alternatives">): { seconds: number; intervalS: number | null } | null {
  if (verify && verify.measured_s !== null && !verify.apart) return { seconds: verify.measured_s, intervalS: verify.interval_s };
  const beside = verify && alternatives.find((one) => one.is_plan);
  return beside && beside.measured_s !== null ? { seconds: beside.measured_s, intervalS: beside.interval_s } : null;
}

/** The plan's total and that of the fastest single target: both measured end to end, or both as sums of costs. */
export function headline(run: RunSnapshot): Headline | null {
  if (!run.plan) return null;
  const single = run.baselines.filter((baseline) => isAlone(baseline.name));
  const measured = measuredBeside(run);
  const byMeasure = best(single, (baseline) => baseline.measured_s);
  if (measured !== null && byMeasure) return { totalS: measured.seconds, alone: byMeasure, isMeasured: true, unknown: 0 };
  const unknown = unknownCosts(run.plan);
  return { totalS: run.plan.total_s, alone: unknown > 0 ? null : best(single, (baseline) => baseline.total_s), isMeasured: false, unknown };
}

function best(baselines: readonly Baseline[], of: (baseline: Baseline) => number | null): Headline["alone"] {
  let found: Headline["alone"] = null;
  for (const baseline of baselines) {
    const totalS = of(baseline);
    if (totalS !== null && (found === null || totalS < found.totalS)) found = { name: baseline.name, totalS };
  }
  return found;
}

export interface Share {
  /** A target's name, or `transition`. */
  name: string;
  seconds: number;
}

/** The total by target, largest first; the transitions last. */
export function shares(plan: PlanInfo): Share[] {
  const sums = new Map<string, number>();
  for (const { target, cost_s } of plan.partitions) sums.set(target, (sums.get(target) ?? 0) + (cost_s ?? 0));
  const byTarget = [...sums].map(([name, seconds]) => ({ name, seconds })).sort((a, b) => b.seconds - a.seconds);
  const transitions = plan.transitions.reduce((sum, transition) => sum + transition.cost_s, 0);
  return transitions > 0 ? [...byTarget, { name: "transition", seconds: transitions }] : byTarget;
}

/** True if the costs of a run were replayed from a recording. */
export function isRecorded(run: RunSnapshot): boolean {
  return run.recorded || run.state === "recorded" || (run.plan?.partitions.some((partition) => partition.source === "recorded") ?? false);
}
