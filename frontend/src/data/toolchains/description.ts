// A described toolchain as text: the template, its lines in a text area, and in words what the toolchain would gain. Pure.

import { plural } from "../../base/format";
import type { PlanInfo } from "../protocol";

export const TEMPLATE = `# An accelerator that exists on paper, to see how much faster the best plan would be with it
name = "hook"
style = "graph"          # graph (whole sub-graphs) or library (calls)
fusion = "arbitrary"     # none, tvm or arbitrary: how its patterns combine

[[pattern]]
label = "conv_relu"
match = "Relu(Conv(*, *) | Add(Conv(*, *), *))"
dtypes = ["float32"]

[cost]                   # an estimate, never a measurement
launch_s = 2e-6
flops_per_s = 4e12
bytes_per_s = 2e11
transfer_bytes_per_s = 1.2e10   # without these two, transfers count as free
transfer_latency_s = 1e-5
`;

/** The number of lines of a text in a text area. */
export function lineCount(text: string): number {
  return text.split("\n").length;
}

/** The start and end of a line in a text; those of the last line where there is no such line. */
export function lineSpan(text: string, line: number): [number, number] {
  const lines = text.split("\n");
  const at = Math.min(Math.max(line, 1), lines.length) - 1;
  const start = lines.slice(0, at).reduce((all, one) => all + one.length + 1, 0);
  return [start, start + (lines[at]?.length ?? 0)];
}

export interface Gain {
  /** The share of the toolchain: "12 partitions, 40 of 60 nodes". */
  takes: string;
  partitions: PlanInfo["partitions"];
}

/** The share of a toolchain in words, in the best plan with it. */
export function gainOf(name: string, after: PlanInfo): Gain {
  const mine = after.partitions.filter((one) => one.target === name);
  const taken = mine.reduce((all, one) => all + one.nodes.length, 0);
  const all = after.partitions.reduce((sum, one) => sum + one.nodes.length, 0);
  return {
    takes: `${plural(mine.length, "partition")}, ${taken} of ${plural(all, "node")}`,
    partitions: [...mine].sort((a, b) => (b.cost_s ?? 0) - (a.cost_s ?? 0)),
  };
}
