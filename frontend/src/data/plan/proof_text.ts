// How good the plan of a run is, as far as its search proved it. Pure.

import { duration, signedDuration } from "../../base/format";
import type { RunSnapshot } from "../protocol";

/** Less than this apart, in seconds, two totals are equal: costs are rounded to femtoseconds. */
const NOTHING_S = 0.5e-12;

/** The proof behind the shown total: no plan has a lower one for these costs, or it is above the least by so much, with the reason. Empty where nothing is proven. */
export function proofText({ plan, optimal, lower_bound_s: leastS, decided_by }: RunSnapshot): string {
  if (!plan || optimal === null) return "";
  const aboveS = leastS === null || leastS <= 0 ? 0 : plan.total_s - leastS;
  if (optimal && aboveS <= NOTHING_S) return "optimal for these costs";
  if (decided_by === "whole") return "chosen by measuring the whole";
  if (aboveS <= NOTHING_S) return "";
  const withinNoise = plan.total_interval_s !== null && aboveS <= plan.total_interval_s;
  return withinNoise ? `tie broken by priority, within noise (${signedDuration(aboveS)})` : `${optimal ? "" : "stopped early: "}at most ${duration(aboveS)} above the best`;
}
