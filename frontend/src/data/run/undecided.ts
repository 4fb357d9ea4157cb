// The choices that the budget of a run left undecided, in words. Pure.

import { duration, percent, plural } from "../../base/format";
import type { RunSnapshot, Undecided } from "../protocol";

/** Everything that measuring left undecided in a run that is over, what could gain most first; empty for other runs. */
export function undecidedOf(run: RunSnapshot): readonly Undecided[] {
  return (run.state === "done" || run.state === "recorded") && run.plan !== null ? (run.budget?.undecided ?? []) : [];
}

/** The two sides, the first node, and by how much the other side could be faster. */
export function undecidedText({ partitions, instead, could_gain_s: gainS }: Undecided, plan: NonNullable<RunSnapshot["plan"]>): string {
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
