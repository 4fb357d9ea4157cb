// The two times that a whole plan has, by the names that they have everywhere: predicted and measured. Pure.

import { duration, plusMinus } from "../../base/format";

export type Basis = "predicted" | "measured";

/** The one definition of each, for titles and hints. */
export const MEANING: Readonly<Record<Basis, string>> = {
  predicted: "the sum of the costs of its partitions and transitions, with the 95 % interval of that sum",
  measured: "the whole plan, timed end to end beside the others, with its 95 % interval",
};

/** "predicted 2.00 ms ±3 %"; without the interval where none is known. */
export function timeText(basis: Basis, seconds: number, intervalS: number | null = null): string {
  return `${basis} ${duration(seconds)} ${plusMinus(seconds, intervalS)}`.trim();
}

/** "both predicted: the sum of …", for two totals that are compared. */
export function bothText(basis: Basis): string {
  return `both ${basis}: ${MEANING[basis]}`;
}
