// The words of the panel "Why" about a described toolchain at a node: the basis of its estimate, by how much it wins or loses, and from
// what speed it would win. All of it is about one candidate, with the rest of the plan as it is. Pure.

import { bytes, duration, operations, perSecond } from "../../base/format";
import type { NodeCandidate, NodeCandidates, EstimateBasisJson } from "../protocol";
import { inexactReason } from "./why";

export interface EstimateText {
  target: string;
  /** Its candidate in the plan, else the one of least regret; undefined where it has none here. */
  candidate: NodeCandidate | undefined;
  lines: string[];
}

/** The texts for each described target at the node of `data`. */
export function estimateTexts(data: NodeCandidates, described: readonly string[]): EstimateText[] {
  return described.map((target) => {
    const mine = data.candidates.filter((one) => one.target === target && one.estimate_basis !== null);
    const candidate = mine.find((one) => one.chosen) ?? [...mine].sort(byRegret)[0];
    if (candidate?.estimate_basis) return { target, candidate, lines: linesOf(candidate, candidate.estimate_basis, data.candidates) };
    const isRejected = data.rejections.some((one) => one.target === target);
    return { target, candidate: undefined, lines: isRejected ? [] : ["It has no candidate here: none of its rules takes this node."] };
  });
}

function byRegret(a: NodeCandidate, b: NodeCandidate): number {
  return (a.regret_at_least_s ?? Infinity) - (b.regret_at_least_s ?? Infinity) || (a.cost.seconds ?? 0) - (b.cost.seconds ?? 0);
}

function linesOf(candidate: NodeCandidate, basis: EstimateBasisJson, all: readonly NodeCandidate[]): string[] {
  const cost = candidate.cost.seconds ?? 0;
  const estimate = `${candidate.label} would take ${duration(cost)}: an estimate, nothing was measured. It is ${basisText(basis)}; ${basis.has_transfers ? "transfers cost what its description says" : "transfers free"}.`;
  return [estimate, ...(candidate.chosen ? winText(candidate, basis, all) : lossText(candidate, basis))];
}

/** The basis of an estimate: "2.0 µs for the call, and the longer of 231 MFLOP at 4 TFLOP/s (57.8 µs) and 1.2 MB at 200 GB/s (6.0 µs)". */
function basisText({ operations: count, bytes: size, launch_s: launch, operations_per_s: speed, bytes_per_s: width }: EstimateBasisJson): string {
  const limits = [
    speed === null ? "" : `${operations(count)} at ${operations(speed)}/s (${duration(count / speed)})`,
    width === null ? "" : `${bytes(size)} at ${perSecond(width)} (${duration(size / width)})`,
  ].filter(Boolean);
  const longer = limits.length > 1 ? `the longer of ${limits.join(" and ")}` : (limits[0] ?? "");
  return [launch > 0 || longer === "" ? `${duration(launch)} for the call` : "", longer].filter(Boolean).join(", and ");
}

/** How much longer the best plan with another target here takes, exactly or at least. */
function margin(target: string, all: readonly NodeCandidate[]): { seconds: number; isExact: boolean; rests_on_unknown: boolean } | undefined {
  const others = all.filter((one) => one.target !== target && one.regret_at_least_s !== null);
  const seconds = Math.min(...others.map((one) => one.regret_at_least_s ?? Infinity));
  if (!Number.isFinite(seconds)) return undefined;
  const exact = Math.min(...others.map((one) => one.regret_s ?? Infinity));
  return { seconds, isExact: exact <= seconds, rests_on_unknown: others.some((one) => one.rests_on_unknown && one.regret_at_least_s === seconds) };
}

function winText(candidate: NodeCandidate, basis: EstimateBasisJson, all: readonly NodeCandidate[]): string[] {
  const { target } = candidate;
  const found = margin(target, all);
  if (!found) return ["No other target can take this node, so there is no margin."];
  if (found.seconds <= 0) return [found.isExact ? "A plan with another target here takes as long." : `The margin is not known: ${inexactReason(found)}.`];
  const by = `It wins by ${found.isExact ? "" : "at least "}${duration(found.seconds)}: ${found.isExact ? "the best plan with another target here takes that much longer" : `every plan with another target here takes at least that much longer; the exact difference is not known: ${inexactReason(found)}`}.`;
  const slowest = speedFor(basis, (candidate.cost.seconds ?? 0) + found.seconds);
  return slowest.kind === "speed" ? [by, `It would win down to ${slowest.words}${found.isExact ? "" : ", or less"}, ${unchangedText(target)}.`] : [by];
}

function lossText(candidate: NodeCandidate, basis: EstimateBasisJson): string[] {
  const { target, regret_s: exact, regret_at_least_s: least } = candidate;
  if (least === null) return ["No plan can hold it."];
  const isExact = exact !== null;
  if (least <= 0) return [isExact ? "A plan with it takes as long as the best one." : `The time that it loses is not known: ${inexactReason(candidate)}.`];
  const by = isExact ? `It loses by ${duration(least)}: the best plan with it takes that much longer.` : `It loses by at least ${duration(least)}; the exact difference is not known: ${inexactReason(candidate)}.`;
  const below = (candidate.cost.seconds ?? 0) - least;
  if (below <= 0) return [by, "It would not win here even if it took no time."];
  const needed = speedFor(basis, below);
  if (needed.kind === "never") return [by, `No speed is enough: it would win below ${duration(below)}, and its call alone takes ${duration(basis.launch_s)}.`];
  return [by, `It would win from ${needed.words}${isExact ? "" : " at the earliest"}, ${unchangedText(target)}.`];
}

function unchangedText(target: string): string {
  return `with the rest of ${target} and of the plan unchanged`;
}

type Speed = { kind: "never" } | { kind: "speed"; words: string };

/** The speeds at which it takes `seconds`. A speed that is high enough already is left out, unless all are. */
function speedFor({ operations: count, bytes: size, launch_s: launch, operations_per_s: speed, bytes_per_s: width }: EstimateBasisJson, seconds: number): Speed {
  const rest = seconds - launch;
  if (rest <= 0) return { kind: "never" };
  const isSlower = Math.max(speed === null ? 0 : count / speed, width === null ? 0 : size / width) <= rest;
  const compute = speed !== null && (isSlower || count / speed > rest) && count > 0 ? `${operations(count / rest)}/s` : "";
  const transfer = width !== null && (isSlower ? compute === "" : size / width > rest) && size > 0 ? perSecond(size / rest) : "";
  const words = [compute, transfer].filter(Boolean).join(" and ");
  return words === "" ? { kind: "never" } : { kind: "speed", words };
}
