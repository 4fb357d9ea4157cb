// How sure a partition of the plan is: by its stability, else by how much its cost may be off; what was not measured is marked. Pure.

import type { Cost, PlanPartition } from "../protocol";

/** Chosen in half of the resamplings or fewer, or off by a quarter of the cost or more: as unsure as it is shown. */
export const LEAST_STABILITY = 0.5;
export const WIDEST = 0.25;

/** What "±" says, in words. */
export const UNCERTAIN = "By how much the cost may be off: half of its 95 % interval over several repetitions.";

export type Basis = "stability" | "interval" | "nothing";

export interface Doubt {
  basis: Basis;
  /** 0 is sure, 1 as unsure as is shown; null where nothing says how sure it is. */
  value: number | null;
  /** The cost is an estimate, invented or not known. */
  isGuess: boolean;
}

const SOLID = new Set(["measured", "recorded", "host"]);

/** Whether a cost was neither measured nor replayed from a measurement. */
export function isGuess(partition: Pick<PlanPartition, "source" | "cost_s">): boolean {
  return partition.cost_s === null || !SOLID.has(partition.source);
}

/** By how much a cost may be off either way, as a share of it; null where nothing says so. */
export function uncertainty(seconds: number | null, { interval_s: off }: Pick<Cost, "interval_s">): number | null {
  return seconds === null || seconds <= 0 || off === null ? null : off / seconds;
}

/** How sure a partition is. */
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
