// A plan as the server is sent it, to be compared with another. Pure.

import type { PlanInfo, PlanTime, RunSnapshot, ShownPlan } from "../protocol";
import { movesOf } from "./summary";

/** The time of a plan of which nothing is known. */
export const NO_TIME: PlanTime = { predicted_s: null, predicted_interval_s: null, at_least_s: 0, measured_s: null, interval_s: null, unknown: 0, least_ratio: null, unexplained_s: null };

/** A plan with its time. `run` is that in which it was timed end to end, and `isPlan` says that it is the plan which that run decided on. */
export function shownPlan(plan: PlanInfo, time: PlanTime | null, run = "", isPlan = false): ShownPlan {
  const parts = plan.partitions.map(({ id, target, nodes, cost_s, interval_s, source }) => ({ id, target, nodes, cost_s, interval_s, source }));
  return { parts, transitions_s: movesOf(plan), time: time ?? NO_TIME, run, is_plan: isPlan };
}

/** The plan of a run that has one. */
export function planOfRun({ plan, time, id }: RunSnapshot): ShownPlan {
  if (!plan) throw new Error("the run has no plan");
  return shownPlan(plan, time, id, true);
}
