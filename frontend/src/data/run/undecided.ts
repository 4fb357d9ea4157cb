// The choices that the measuring of a run left undecided, and what would decide them, in words. Pure.

import { duration, elapsed, percent, plural } from "../../base/format";
import type { DecisionNeeds, RivalInfo, RunSnapshot, RunUndecided, StablePart, UndecidedRival } from "../protocol";

/** Everything that measuring left undecided in a run that is over, what could gain most first; empty for other runs. */
export function undecidedOf(run: RunSnapshot): readonly RivalInfo[] {
  return (run.state === "done" || run.state === "recorded") && run.plan !== null ? (run.budget?.undecided ?? []) : [];
}

/** The two sides, the first node, and by how much the other side could be faster. */
export function undecidedText({ partitions, instead, could_gain_s: gainS }: RivalInfo, plan: NonNullable<RunSnapshot["plan"]>): string {
  const mine = plan.partitions.filter((one) => partitions.includes(one.id));
  const nodes = mine.flatMap((one) => one.nodes);
  const first = mine[0]?.names[0] ?? "";
  const where = `${plural(nodes.length, "node")} from ${first}`;
  const share = gainS < plan.total_s ? ` (${percent(gainS / plan.total_s)})` : ""; // What is known badly may gain more than the plan seems to take.
  return `${sideText(mine)} or ${sideText(instead)} for ${where}: the second could be ${duration(gainS)} faster${share}`;
}

function sideText(parts: readonly { target: string }[]): string {
  const targets = [...new Set(parts.map((one) => one.target))].join(" + ");
  return parts.length === 1 ? targets : `${targets} in ${plural(parts.length, "partition")}`;
}

const NUMBERS = ["none", "this one", "these two"];

/** The computations that a decision needs more of: "these two", "these 5". */
export function theseText(computations: number): string {
  return NUMBERS[computations] ?? `these ${computations}`;
}

/** The measuring that would decide a choice, as the command line says it. */
export function needsText({ computations, seconds, is_enough: isEnough, is_assumed: isAssumed }: DecisionNeeds): string {
  const rest = isEnough ? "" : ", which may still not decide: both are nearly equally fast";
  return `measure ${theseText(computations)} for ${elapsed(Math.round(Math.max(seconds, 1)))} more${rest}${isAssumed ? " (the time of a trial is assumed)" : ""}`;
}

/** Both sides of a choice, what the second could gain, and what would decide it. */
export function rivalText(rival: UndecidedRival): string {
  return `${sideText(rival.plan)} or ${sideText(rival.instead)} for ${opsText(rival.plan)}: the second could be ${duration(rival.could_gain_s)} faster, ${needsText(rival.needs)}`;
}

/** How many costs are not known, then the toss-ups: partitions that stay chosen in few searches with varied costs; a sentence where there are none. */
export function tossUpLines({ unknown_costs: unknown, ...found }: RunUndecided): string[] {
  return [...(unknown === null ? [] : [unknown.text]), ...stabilityLines(found)];
}

function stabilityLines({ partitions, toss_ups: tossUps }: Pick<RunUndecided, "partitions" | "toss_ups">): string[] {
  const known = partitions.filter((one) => one.stability !== null);
  const lowest = Math.min(...known.map((one) => one.stability ?? 1));
  if (known.length === 0) return [];
  const others = known.length === partitions.length ? "" : ` but ${partitions.length - known.length}, of which it is not known,`;
  if (tossUps.length === 0) return [`every partition${others} stays in the plan in ${lowest === 1 ? "all" : `at least ${share(lowest)} of`} searches with costs varied within their intervals`];
  return known.filter((one) => tossUps.includes(one.id)).map((one) => `${opsText([one])} on ${one.target} stays in the plan in ${share(one.stability ?? 0)} of searches with costs varied within their intervals${offText(one)}`);
}

function offText({ cost_s: costS, interval_s: offS }: StablePart): string {
  return costS === null ? "" : `: ${duration(costS)}${offS === null ? "" : ` ± ${duration(offS)}`}`;
}

function share(value: number): string {
  return `${Math.round(100 * value)} %`;
}

function opsText(parts: readonly { ops: string[] }[]): string {
  const ops = parts.flatMap((one) => one.ops);
  return ops.length <= 4 ? ops.join("+") : `${ops.slice(0, 3).join("+")}+… (${plural(ops.length, "node")})`;
}
