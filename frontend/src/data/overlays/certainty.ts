// How certain a partition of the plan is: by its stability, else by its cost's interval; costs that were not measured are marked. Pure.

import { isSolid } from "../plan/cost_source";
import type { Cost, PlanPartition } from "../protocol";

/** The ends of the scale: a stability of this or less, or an interval of this share of the cost or more, is shown as most uncertain. */
export const LEAST_STABILITY = 0.5;
export const WIDEST = 0.25;

/** The meaning of "±", as a hint. */
export const UNCERTAIN = "The uncertainty of the cost: half of its 95 % interval over several repetitions.";

export type Basis = "stability" | "interval" | "nothing";

export interface Doubt {
  basis: Basis;
  /** From 0 (certain) to 1 (as uncertain as is shown); null where it is not known. */
  value: number | null;
  /** The cost is estimated, made up (mock) or not known. */
  isGuess: boolean;
}

/** True if a cost was neither measured nor replayed from a measurement. */
export function isGuess(partition: Pick<PlanPartition, "source" | "cost_s">): boolean {
  return partition.cost_s === null || !isSolid(partition.source);
}

/** Half of the interval of a cost, as a share of the cost; null where it is not known. */
export function uncertainty(seconds: number | null, { interval_s: off }: Pick<Cost, "interval_s">): number | null {
  return seconds === null || seconds <= 0 || off === null ? null : off / seconds;
}

/** How certain a partition is, and on what that rests. */
export function doubtOf(partition: PlanPartition): Doubt {
  const guess = isGuess(partition);
  if (partition.stability !== null) return { basis: "stability", value: share((1 - partition.stability) / (1 - LEAST_STABILITY)), isGuess: guess };
  const off = uncertainty(partition.cost_s, partition);
  if (!guess && off !== null) return { basis: "interval", value: share(off / WIDEST), isGuess: false };
  return { basis: "nothing", value: partition.source === "host" ? 0 : null, isGuess: guess };
}

function share(value: number): number {
  return Math.max(0, Math.min(1, value));
}
