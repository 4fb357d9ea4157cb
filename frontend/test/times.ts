// Times of nodes for the page's tests.

import type { PartitionNodeTimes, PlanPartition, RunNodeTimes } from "../src/data/protocol";

/** Times of a partition: nodes and share of each kernel, and what the toolchain calls it. */
export function times(of: PlanPartition, ...groups: [nodes: number[], share: number, kernel?: string][]): PartitionNodeTimes {
  const kernels = groups.map(([nodes, share, kernel = ""]) => ({ nodes, share, seconds: share * (of.cost_s ?? 0), kernel }));
  return { partition: of.id, source: "profiler", groups: kernels, rest_share: 0, profiled_s: 1, reason: "" };
}

export function runTimes(partitions: PartitionNodeTimes[], alone: RunNodeTimes["alone_s"] = {}): RunNodeTimes {
  return { run: "r1", partitions, alone_s: alone };
}
