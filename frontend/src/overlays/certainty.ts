// How sure a partition of the plan is: by its stability, else by its relative spread; what was not measured is marked. Pure.

import type { PlanPartition } from "../protocol";

/** Chosen in half of the resamplings or fewer, or a spread of a quarter of the cost or more: as unsure as it is shown. */
export const LEAST_STABILITY = 0.5;
export const WIDEST_SPREAD = 0.25;

export type Basis = "stability" | "spread" | "nothing";

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

/** Half the quartile distance as a share of the cost; null where there is none: one sample says nothing of it. */
export function relativeSpread(seconds: number | null, spreadS: number | null, samples: number): number | null {
  return seconds === null || seconds <= 0 || spreadS === null || samples < 2 ? null : spreadS / seconds;
}

/** How sure a partition is. */
export function doubtOf(partition: PlanPartition): Doubt {
  const guess = isGuess(partition);
  if (partition.stability !== null) return { basis: "stability", value: share((1 - partition.stability) / (1 - LEAST_STABILITY)), isGuess: guess };
  const spread = relativeSpread(partition.cost_s, partition.spread_s, partition.samples);
  if (!guess && spread !== null) return { basis: "spread", value: share(spread / WIDEST_SPREAD), isGuess: false };
  return { basis: "nothing", value: partition.source === "host" ? 0 : null, isGuess: guess };
}

function share(value: number): number {
  return Math.max(0, Math.min(1, value));
}
