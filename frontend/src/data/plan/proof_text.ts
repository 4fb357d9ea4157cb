// How good the plan of a run is, as far as its search proved it. Pure.

import { duration } from "../../base/format";
import type { RunSnapshot } from "../protocol";
import { unknownCosts } from "./summary";

/** Less than this apart, in seconds, two totals are equal: costs are rounded to femtoseconds. */
const NOTHING_S = 0.5e-12;

/** How it is said that something else than the total decided, by `decided_by`. */
const OTHERWISE: Readonly<Record<string, string>> = { whole: "chosen by measuring the whole", given: "given, not searched for" };

/** The proof behind the shown total, in the words of `collage_core/cli/proof_text.py`: that no plan has a lower one for these costs, or by how much it is above the least and why. Empty where nothing is. */
export function proofText({ plan, optimal, lower_bound_s: leastS, decided_by }: RunSnapshot): string {
  if (!plan || optimal === null) return "";
  const aboveS = aboveLeast(plan.total_s, leastS);
  if (optimal && aboveS <= NOTHING_S) return unknownCosts(plan) > 0 ? "optimal for the known costs" : "optimal for these costs";
  const otherwise = OTHERWISE[decided_by ?? ""];
  if (otherwise !== undefined) return otherwise;
  if (aboveS <= NOTHING_S) return "";
  const reason = optimal ? "" : "stopped early";
  const above = `at most ${duration(aboveS)} above the best`;
  if (plan.total_interval_s === null || aboveS > plan.total_interval_s) return `${reason && `${reason}: `}${above}`;
  const byPriority = plan.partitions.some((one) => one.decided_by === "priority" && one.cost_s !== null);
  const tie = byPriority ? "tie broken by priority" : reason;
  return `${tie && `${tie}: `}${above}, within noise`;
}

/** By how much a total is above the bound below all of them; 0 where no bound is known. */
function aboveLeast(totalS: number, leastS: number | null): number {
  return leastS === null || leastS <= 0 ? 0 : totalS - leastS;
}
