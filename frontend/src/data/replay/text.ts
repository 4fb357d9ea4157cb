// A step of a traced search in words: a sentence for the shown step, a few words for the steps around it. Pure.

import { count, duration, plural } from "../../base/format";
import { timeText } from "../plan/basis";
import { isSolid, sourceLabel } from "../plan/cost_source";
import type { TraceCandidate, TraceFacts, TraceResult } from "../protocol";
import { sizeOf } from "../spans";
import { frontierOf, type ReplayFrame } from "./frames";

const WHY_NOT: Record<string, string> = {
  overlaps: "it overlaps what is covered already",
  excluded: "its toolchain must not be in one plan with another that is used",
  cycle: "it would complete a plan whose partitions wait for each other",
  copied: "a tensor that has to stay would be copied",
  "no better": "the state that it leads to is known by a way that is no worse",
};

const SHORT_WHY_NOT: Record<string, string> = { overlaps: "overlaps", excluded: "excluded", cycle: "cycle", copied: "copied", "no better": "no better" };

/** Gives the name of a node by its number. */
export type NameOf = (node: number) => string;

/** The step as a sentence. */
export function stepText(frame: ReplayFrame, facts: TraceFacts, nameOf: NameOf): string {
  const { candidate } = frame;
  switch (frame.kind) {
    case "begin":
      return begin(frame, facts);
    case "taken":
      return `State ${count(frame.state)} is expanded: ${coveredText(frame.placed, facts.nodes)}.${leastText(frame)}`;
    case "found":
      return `${described(candidate, nameOf)} is placed: state ${count(frame.state)} is found, ${coveredText(withCandidate(frame), facts.nodes)}.${leastText(frame)}`;
    case "improved":
      return `${described(candidate, nameOf)} is placed: state ${count(frame.state)} is improved, ${coveredText(withCandidate(frame), facts.nodes)}.${leastText(frame)}`;
    case "refused":
      return `${described(candidate, nameOf)} is tried in state ${count(frame.state)} and not placed: ${WHY_NOT[frame.reason] ?? frame.reason}.`;
    case "plan":
      return `${isBest(frame) ? "The best plan so far" : "A plan"}: ${frame.totalS === null ? "" : timeText("predicted", frame.totalS)} by ${plural(frame.placed.length, "partition")}.`;
    case "skipped":
      return "Steps are left out here: the trace had reached its bound, and goes on with better plans and the ends of searches.";
    case "end":
      return end(frame);
  }
}

/** The step in a few words. */
export function briefStepText(frame: ReplayFrame): string {
  const { candidate } = frame;
  const who = candidate ? `${candidate.target} ${candidate.label}` : "";
  switch (frame.kind) {
    case "begin":
      return "begins";
    case "taken":
      return `expands state ${count(frame.state)}`;
    case "found":
      return `${who} → state ${count(frame.state)}`;
    case "improved":
      return `${who} → state ${count(frame.state)} improved`;
    case "refused":
      return `${who}: ${SHORT_WHY_NOT[frame.reason] ?? frame.reason}`;
    case "plan":
      return `${isBest(frame) ? "best plan so far" : "a plan"}${frame.totalS === null ? "" : `, ${timeText("predicted", frame.totalS)}`}`;
    case "skipped":
      return "left out";
    case "end":
      return "ends";
  }
}

/** True if the plan is the best so far; a search that begins again also finds plans that are no better than those before. */
function isBest(frame: ReplayFrame): boolean {
  return frame.totalS !== null && frame.totalS === frame.bestS;
}

function begin(frame: ReplayFrame, facts: TraceFacts): string {
  const { title, is_again, candidates } = frame.search;
  if (is_again) return `${capitalised(title)} begins again: partitions of the best plan wait for each other, so that plan is forbidden.`;
  return `${capitalised(title)} begins: ${plural(candidates, "candidate")} over ${plural(facts.nodes, "node")}, none covered yet.`;
}

function end(frame: ReplayFrame): string {
  const { result, title } = frame.search;
  if (!result) return `${capitalised(title)} ends.`;
  return `${capitalised(title)} ends ${outcome(result)}, after ${plural(result.states, "state")} and ${plural(result.transitions, "tried candidate")}.`;
}

function outcome(result: TraceResult): string {
  const best = result.total_s === null ? "without a plan" : `with a plan of ${timeText("predicted", result.total_s)}`;
  if (result.stopped) return `stopped early ${best}: the time for tracing is over`;
  return result.optimal ? `${best}, and it is proven that no plan is better` : best;
}

function withCandidate(frame: ReplayFrame): readonly TraceCandidate[] {
  return frame.candidate ? [...frame.placed, frame.candidate] : frame.placed;
}

function coveredText(placed: readonly TraceCandidate[], nodes: number): string {
  const covered = placed.reduce((sum, one) => sum + sizeOf(one.spans), 0);
  if (covered === 0) return "nothing is covered yet";
  const which = frontierOf(placed, nodes) === null ? `all ${plural(nodes, "node")}` : `${count(covered)} of ${plural(nodes, "node")}`;
  return `${which} covered by ${plural(placed.length, "candidate")}${sumText(placed)}`;
}

/** The sum of the placed candidates' costs, without transitions. */
function sumText(placed: readonly TraceCandidate[]): string {
  if (placed.some((one) => one.cost_s === null)) return "";
  const isSure = placed.every((one) => isSolid(one.source));
  return `, ${duration(placed.reduce((sum, one) => sum + (one.cost_s ?? 0), 0))} together${isSure ? "" : ", not all of it measured"}`;
}

function leastText(frame: ReplayFrame): string {
  return frame.leastS === null ? "" : ` No plan over it is below ${duration(frame.leastS)}.`;
}

/** The cost of a candidate, with its source unless it was measured. */
export function costText(candidate: TraceCandidate): string {
  if (candidate.cost_s === null) return "cost not known";
  if (isSolid(candidate.source)) return duration(candidate.cost_s);
  return `${duration(candidate.cost_s)}${sourceLabel(candidate.source) || `, ${candidate.source}`}`;
}

function described(candidate: TraceCandidate | null, nameOf: NameOf): string {
  if (!candidate) return "A candidate";
  const first = candidate.spans[0];
  const where = first === undefined ? "" : ` at ${nameOf(first)}`;
  return `${candidate.target}’s ${candidate.label}${where} (${costText(candidate)})`;
}

function capitalised(text: string): string {
  return text.slice(0, 1).toUpperCase() + text.slice(1);
}
