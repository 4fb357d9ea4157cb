// Summaries of plans: what a decision changed, the measured time, and the total by target. Pure.

import type { PlanInfo, RunSnapshot } from "../protocol";

export interface PlanChange {
  /** The ids of those partitions of the new plan that the old one does not have. */
  changed: ReadonlySet<string>;
  /** How the times compare, as the server says it of a what-if; empty where it was not asked. */
  text: string;
}

/** The number of partitions of a plan whose cost is not known, if only bounded: its total is no prediction. */
export function unknownCosts({ partitions }: Pick<PlanInfo, "partitions">): number {
  return partitions.filter((partition) => partition.cost_s === null || partition.source === "bound").length;
}

/** The change from one plan to another. */
export function planChange(before: PlanInfo, after: PlanInfo, text = ""): PlanChange {
  const key = (partition: { target: string; nodes: number[] }): string => `${partition.target}:${partition.nodes.join()}`;
  const old = new Set(before.partitions.map(key));
  return { changed: new Set(after.partitions.filter((partition) => !old.has(key(partition))).map((partition) => partition.id)), text };
}

export interface Share {
  /** A target's name, or `transition`. */
  name: string;
  seconds: number;
}

/** The total by target, largest first; transitions and copies last. */
export function shares(plan: PlanInfo): Share[] {
  const sums = new Map<string, number>();
  for (const { target, cost_s } of plan.partitions) sums.set(target, (sums.get(target) ?? 0) + (cost_s ?? 0));
  const byTarget = [...sums].map(([name, seconds]) => ({ name, seconds })).sort((a, b) => b.seconds - a.seconds);
  const moves = movesOf(plan);
  return moves > 0 ? [...byTarget, { name: "transition", seconds: moves }] : byTarget;
}

/** The seconds of a plan that transitions and copies take. */
export function movesOf({ transitions, copies }: Pick<PlanInfo, "transitions" | "copies">): number {
  return [...transitions, ...(copies ?? [])].reduce((sum, one) => sum + one.cost_s, 0);
}

/** True if the costs of a run were replayed from a recording. */
export function isRecorded(run: RunSnapshot): boolean {
  return run.recorded || run.state === "recorded" || (run.plan?.partitions.some((partition) => partition.source === "recorded") ?? false);
}
