// How good the plan of a run is, as far as its search proved it. Pure.

import { duration, signedDuration } from "../../base/format";
import type { RunSnapshot } from "../protocol";
import { unknownCosts } from "./summary";

/** Less than this apart, in seconds, two totals are equal: costs are rounded to femtoseconds. */
const NOTHING_S = 0.5e-12;

/** The proof behind the shown total, in the words of `collage_core/cli/proof_text.py`: that no plan has a lower one for these costs, or by how much it is above the least and why. Empty where nothing is. */
export function proofText({ plan, optimal, lower_bound_s: leastS, decided_by }: RunSnapshot): string {
  if (!plan || optimal === null) return "";
  const aboveS = leastS === null || leastS <= 0 ? 0 : plan.total_s - leastS;
  if (optimal && aboveS <= NOTHING_S) return unknownCosts(plan) > 0 ? "optimal for the known costs" : "optimal for these costs";
  if (decided_by === "whole") return "chosen by measuring the whole";
  if (aboveS <= NOTHING_S) return "";
  const reason = optimal ? "" : "stopped early";
  if (plan.total_interval_s === null || aboveS > plan.total_interval_s) return `${reason && `${reason}: `}at most ${duration(aboveS)} above the best`;
  const byPriority = plan.partitions.some((one) => one.decided_by === "priority" && one.cost_s !== null);
  const tie = byPriority ? "tie broken by priority" : reason;
  return `${tie && `${tie}, `}within noise (${signedDuration(aboveS)})`;
}
