// The answer of the panel "Why" for a node: its candidates by target, best first, and the choice in words. Pure.

import { atLeast, duration, elapsed, plural, plusMinus, signedDuration } from "../../base/format";
import type { NodeCandidate, NodeCandidates, NodeRejection, Tuned } from "../protocol";
import { sourceLabel } from "./cost_source";

export interface TargetGroup {
  target: string;
  candidates: NodeCandidate[];
  rejections: GroupedRejection[];
}

/** Rejections with the same stage and reason, and how many there are. */
export interface GroupedRejection extends NodeRejection {
  count: number;
}

/** Candidates and rejections by target: first the chosen target, then by least regret, then by least cost. */
export function byTarget(data: NodeCandidates, holding?: readonly number[]): TargetGroup[] {
  const groups = new Map<string, TargetGroup>();
  const of = (target: string): TargetGroup => {
    const known = groups.get(target) ?? { target, candidates: [], rejections: [] };
    groups.set(target, known);
    return known;
  };
  const wanted = holding ? data.candidates.filter((one) => holding.every((node) => one.nodes.includes(node))) : data.candidates;
  for (const candidate of [...wanted].sort(better)) of(candidate.target).candidates.push(candidate);
  for (const rejection of data.rejections) {
    const group = of(rejection.target);
    const same = group.rejections.find((one) => one.stage === rejection.stage && one.reason === rejection.reason);
    if (same) same.count += 1;
    else group.rejections.push({ ...rejection, count: 1 });
  }
  const rank = (group: TargetGroup): number => (group.candidates[0] ? 0 : 1);
  return [...groups.values()].sort((a, b) => rank(a) - rank(b) || (a.candidates[0] && b.candidates[0] ? better(a.candidates[0], b.candidates[0]) : 0));
}

type Regret = Pick<NodeCandidate, "regret_s" | "regret_at_least_s" | "rests_on_unknown" | "regret_basis">;

/** A regret in few words; "" where no plan holds the candidate. */
export function regretText({ regret_s: exact, regret_at_least_s: least, rests_on_unknown: isUnknown, regret_basis: basis }: Regret): string {
  if (least === null) return "";
  if (exact !== null) return basis === "measured" ? `${signedDuration(exact)} measured` : `${basis === "estimated" ? "≈ " : ""}${signedDuration(exact)}`;
  return isUnknown && least <= 0 ? "unknown" : atLeast(least);
}

/** The reason why a regret is not known exactly, as a clause. */
export function inexactReason({ rests_on_unknown: isUnknown }: Pick<NodeCandidate, "rests_on_unknown">): string {
  return isUnknown ? "the answer rests on a cost, or on the time of a whole plan, that is not known" : "finding out takes too long";
}

/** True if only a bound of a candidate's regret is known. */
function isBounded(one: NodeCandidate): boolean {
  return !one.chosen && one.regret_s === null && one.regret_at_least_s !== null;
}

/**
 * Compares candidates: the chosen first, then those with an exact regret, a bound, a bound since a cost is unknown, a cost alone, and none;
 * each by regret, number of nodes and cost.
 */
function better(a: NodeCandidate, b: NodeCandidate): number {
  const keys = (one: NodeCandidate): number[] => [
    one.chosen ? 0 : 1,
    one.cost.seconds === null ? 1 : 0,
    one.regret_s === null ? 1 : 0,
    one.regret_at_least_s === null ? 1 : 0,
    one.rests_on_unknown ? 1 : 0,
    one.regret_at_least_s ?? 0,
    one.nodes.length,
    one.cost.seconds ?? Infinity,
  ];
  const [left, right] = [keys(a), keys(b)];
  for (const [i, value] of left.entries()) {
    const other = right[i] ?? 0;
    if (value !== other) return value < other ? -1 : 1;
  }
  return a.id < b.id ? -1 : a.id > b.id ? 1 : 0;
}

/**
 * The choice in sentences: the target, its time, and how far the best other target is from winning, then what may be nearer, of which
 * only a bound is known; `estimateTexts` has described ones.
 */
export function whyText(data: NodeCandidates): string[] {
  const chosen = data.candidates.find((one) => one.chosen);
  if (!chosen) return [];
  const { seconds, samples, source } = chosen.cost;
  // The cost is that of the whole partition; `nodeTimeText` says what the node takes of it.
  const what = chosen.nodes.length > 1 ? `the partition of ${plural(chosen.nodes.length, "node")} that holds it` : "it";
  const lines = [`${chosen.target} ${chosen.estimate_basis ? "would run" : "runs"} ${what} in ${seconds === null ? "a time that is not known" : [duration(seconds), plusMinus(seconds, chosen.cost.interval_s)].filter(Boolean).join(" ")}`];
  if (samples > 0) lines[0] += ` (${samples} samples, ${source})`;
  else lines[0] += sourceLabel(source);
  if (chosen.cost.tuned && seconds !== null) lines.push(tunedText(chosen.cost.tuned, seconds));
  const [rival, ...others] = data.candidates
    .filter((one) => one.target !== chosen.target && one.estimate_basis === null && one.regret_at_least_s !== null && one.cost.seconds !== null)
    .sort(better);
  if (rival) lines.push(distance(rival, chosen));
  const nearer = others.find(isBounded);
  if (rival && nearer && !isBounded(rival) && (nearer.regret_at_least_s ?? 0) < (rival.regret_s ?? 0)) lines.push(boundText(nearer, withNodes(nearer)));
  return lines;
}

function withNodes({ target, nodes }: NodeCandidate): string {
  return `${target} with ${plural(nodes.length, "node")}`;
}

/** The text of what tuning brought a candidate that takes so many seconds, and how long it took. */
export function tunedText({ untuned_s: untuned, spent_s: spent, trials }: Tuned, seconds: number): string {
  return `it was tuned for ${elapsed(spent)}, ${plural(trials, "schedule")}: ${(untuned / seconds).toFixed(2)} times as fast as with the default schedule, ${duration(untuned)}`;
}

/** How far a candidate is from winning. If only a bound of its regret is known, no more is said than the bound proves. */
function distance(rival: NodeCandidate, chosen: NodeCandidate): string {
  if (rival.over_budget) return `${rival.target} cannot be used here: ${rival.over_budget}`;
  if (rival.regret_basis === "measured") return `the best plan with ${rival.target} here was timed end to end: ${signedDuration(rival.regret_s ?? 0)}`;
  const isExact = rival.regret_s !== null;
  const needed = threshold(rival) ?? 0;
  const close = sourceLabel(rival.cost.source) === "" ? closeText(rival, chosen) : "";
  if (close !== "") return close;
  if (!isExact) return boundText(rival, rival.target);
  return needed <= 0 ? hopeless(rival.target) : `${rival.target} would win here below ${duration(needed)}; ${takes(rival)}`;
}

/** How far a candidate may be from winning, of whose regret only a bound is known. */
function boundText(rival: NodeCandidate, name: string): string {
  if ((rival.regret_at_least_s ?? 0) <= 0) return `it is not known how far ${name} is from winning here: ${inexactReason(rival)}`;
  const needed = threshold(rival) ?? 0;
  return needed <= 0 ? hopeless(name) : `${name} would win here below ${duration(needed)} at most; ${takes(rival)}`;
}

function hopeless(name: string): string {
  return `${name} would not win here even if it took no time`;
}

const TAKES: Readonly<Record<string, string>> = {
  bound: "it was not measured, a heuristic bound says",
  estimate: "it was not measured, an estimate says",
  profile: "it was not measured, an estimate from a profile says",
};

function takes({ cost }: NodeCandidate): string {
  return `${TAKES[cost.source] ?? "it takes"} ${duration(cost.seconds ?? 0)}`;
}

/** That measuring cannot tell two candidates apart, and what it would take; empty where it can, or where the regret is not exact. */
function closeText({ target, regret_s: regret, cost }: NodeCandidate, chosen: NodeCandidate): string {
  const unsureS = (chosen.cost.interval_s ?? 0) + (cost.interval_s ?? 0);
  if (regret === null || regret > unsureS) return "";
  return `${target} is too close to call: the plan with it is predicted ${signedDuration(regret)}, and the two costs are known to ±${duration(unsureS)}; re-timing both would tell them apart`;
}

/** The cost at which a candidate would enter the best plan, all else as it is; an upper bound where its regret is a lower bound. */
export function threshold({ regret_at_least_s: regret, regret_basis: basis, cost }: NodeCandidate): number | undefined {
  return regret === null || cost.seconds === null || basis === "measured" ? undefined : cost.seconds - regret;
}
