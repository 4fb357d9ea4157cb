// What a decision changed between two plans, and the headline figures of a run. Pure.

import type { Baseline, PlanInfo, RunSnapshot } from "../protocol";

export interface PlanChange {
  /** New total less the old one. */
  differenceS: number;
  /** Ids of partitions of the new plan that the old one has not. */
  changed: ReadonlySet<string>;
}

/** The difference from one plan to another. */
export function planChange(before: PlanInfo, after: PlanInfo): PlanChange {
  const key = (partition: { target: string; nodes: number[] }): string => `${partition.target}:${partition.nodes.join()}`;
  const old = new Set(before.partitions.map(key));
  const changed = after.partitions.filter((partition) => !old.has(key(partition))).map((partition) => partition.id);
  return { differenceS: after.total_s - before.total_s, changed: new Set(changed) };
}

export interface Headline {
  totalS: number;
  /** The best single target, if one can run the whole model. */
  alone: { name: string; totalS: number } | null;
  /** Whether both figures were measured end to end, and are not sums of costs. */
  isMeasured: boolean;
}

/** The total against the best single target: measured end to end where both were, else both as sums of their costs. */
export function headline(run: RunSnapshot): Headline | null {
  if (!run.plan) return null;
  const single = run.baselines.filter((baseline) => baseline.name !== "greedy");
  const measured = run.verify?.measured_s ?? null;
  const byMeasure = best(single, (baseline) => baseline.measured_s);
  if (measured !== null && byMeasure) return { totalS: measured, alone: byMeasure, isMeasured: true };
  return { totalS: run.plan.total_s, alone: best(single, (baseline) => baseline.total_s), isMeasured: false };
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

/** Whether the costs of a run come from a recording, and were not measured on this machine just now. */
export function isRecorded(run: RunSnapshot): boolean {
  return run.recorded || run.state === "recorded" || (run.plan?.partitions.some((partition) => partition.source === "recorded") ?? false);
}
