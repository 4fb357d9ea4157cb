// The time of each node inside its partition: which kernel it is in, what that takes, and the words for it. Pure.

import { duration, percent, plural } from "../../base/format";
import type { NodeJson, PartitionNodeTimes, PlanPartition, RunNodeTimes } from "../protocol";

/** The nodes that one kernel computes together, or a single node. */
export interface KernelTime {
  partition: PlanPartition;
  nodes: readonly number[];
  /** Of the time of the partition, from 0 to 1. */
  share: number;
  /** That share of the partition's cost; null where the cost is not known. */
  seconds: number | null;
  kernel: string;
  source: PartitionNodeTimes["source"];
}

/** The kernel of each node, as far as it is known. Partitions of another plan than that of the times are left out. */
export function kernelsByNode(times: RunNodeTimes | null, partitions: readonly PlanPartition[]): ReadonlyMap<number, KernelTime> {
  const byId = new Map(times?.partitions.map((one) => [one.partition, one]));
  const found = new Map<number, KernelTime>();
  for (const partition of partitions) {
    for (const kernel of kernelsOf(partition, byId.get(partition.id))) for (const node of kernel.nodes) found.set(node, kernel);
  }
  return found;
}

function kernelsOf(partition: PlanPartition, times: PartitionNodeTimes | undefined): KernelTime[] {
  const { cost_s: costS } = partition;
  if (!times && partition.nodes.length === 1) return [{ partition, nodes: partition.nodes, share: 1, seconds: costS, kernel: "", source: "cost" }];
  return (times?.groups ?? []).map(({ nodes, share, kernel }) => ({ partition, nodes, share, kernel, seconds: costS === null ? null : share * costS, source: times?.source ?? "none" }));
}

/** "Conv + Relu", or "Conv + 4 more". */
export function kernelTitle(kernel: readonly number[], nodes: readonly NodeJson[]): string {
  const ops = kernel.map((node) => nodes[node]?.op ?? "").map((op) => op.slice(op.lastIndexOf(".") + 1));
  return ops.length <= 3 ? ops.join(" + ") : `${ops.slice(0, 2).join(" + ")} + ${ops.length - 2} more`;
}

/** The source of the shares, as the end of a sentence. */
export function sourceText(source: PartitionNodeTimes["source"], target: string): string {
  if (source === "profiler") return `by ${target}'s profiler, scaled to the cost of the partition`;
  if (source === "candidates") return `by the costs of its nodes, each alone on ${target}: nothing is fused in them`;
  return "";
}

/** The time of a node inside its partition, and what it takes alone, in sentences; empty where nothing is known. */
export function nodeTimeText(node: number, kernel: KernelTime | undefined, alone: RunNodeTimes["alone_s"], nodes: readonly NodeJson[]): string[] {
  if (!kernel || kernel.source === "cost" || kernel.seconds === null) return [];
  const { share, seconds, nodes: members, partition, source } = kernel;
  const op = nodes[node]?.op ?? "node";
  const others = members.length - 1;
  const name = kernel.kernel === "" ? "" : `, ${kernel.kernel}`;
  const who = others > 0 ? `This ${op} is one kernel with ${plural(others, "other node")}${name}; it` : `This ${op}`;
  const takes = `${who} takes ${percent(share)} of the partition: ${duration(seconds)} ${sourceText(source, partition.target)}`;
  return others > 0 ? [takes] : [takes, ...aloneText(node, seconds, alone)];
}

/** The time of the node alone, on each target that was measured so, beside its time here. */
function aloneText(node: number, hereS: number, alone: RunNodeTimes["alone_s"]): string[] {
  const known = Object.entries(alone).flatMap(([target, seconds]): [string, number][] => (seconds[node] === null || seconds[node] === undefined ? [] : [[target, seconds[node]]]));
  if (known.length === 0) return [];
  const texts = known.sort((a, b) => a[1] - b[1]).map(([target, seconds]) => `${duration(seconds)} on ${target}${ratioText(seconds, hereS)}`);
  return [`Alone it takes ${texts.join(", ")}`];
}

/** " (a third of that)": a simple share where one is near, else the share in percent. */
function ratioText(aloneS: number, hereS: number): string {
  if (!(hereS > 0)) return "";
  const ratio = aloneS / hereS;
  if (ratio > 0.8 && ratio < 1.25) return " (about as long)";
  if (ratio >= 1.25) return ` (${ratio < 10 ? ratio.toFixed(1) : Math.round(ratio)} times that)`;
  const parts = Math.round(1 / ratio);
  const word = Math.abs(ratio * parts - 1) < NEAR ? PARTS[parts] : undefined;
  return ` (${word ?? percent(ratio)} of that)`;
}

const PARTS: Readonly<Record<number, string>> = { 2: "half", 3: "a third", 4: "a quarter", 5: "a fifth" };
/** How far a share may be from the words for it, as a part of itself. */
const NEAR = 0.1;

/** The kernels of a partition that take most of its time, dearest first. */
export function dearest(partition: PlanPartition, kernels: ReadonlyMap<number, KernelTime>, most: number): KernelTime[] {
  const found = new Set(partition.nodes.flatMap((node) => kernels.get(node) ?? []));
  return [...found].sort((a, b) => b.share - a.share).slice(0, most);
}

export interface NodesCost {
  /** The time of some nodes: kernels of which they hold a part count by the number of their nodes; null where a cost is not known. */
  seconds: number | null;
  /** How many partitions these are, wholly or in part. */
  partitions: number;
  /** How many of them are partly elsewhere and have no times of their nodes: they are not counted. */
  uncounted: number;
}

/** The cost of some nodes of a plan, as far as partitions or kernels can be told apart. */
export function costOfNodes(nodes: readonly number[], partitionOf: ReadonlyMap<number, PlanPartition>, kernels: ReadonlyMap<number, KernelTime>): NodesCost {
  const within = new Map<PlanPartition, number[]>();
  for (const node of nodes) {
    const partition = partitionOf.get(node);
    if (!partition) continue;
    const members = within.get(partition);
    if (members) members.push(node);
    else within.set(partition, [node]);
  }
  let [seconds, uncounted]: [number | null, number] = [0, 0];
  for (const [partition, members] of within) {
    const isWhole = members.length === partition.nodes.length;
    const parts = members.map((node) => kernels.get(node));
    if (!isWhole && parts.some((part) => part === undefined)) uncounted += 1;
    else if (partition.cost_s === null || seconds === null) seconds = null;
    else seconds += isWhole ? partition.cost_s : parts.reduce((sum, part) => sum + (part?.seconds ?? 0) / (part?.nodes.length ?? 1), 0);
  }
  return { seconds, partitions: within.size, uncounted };
}
