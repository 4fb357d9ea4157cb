// The words for edges between two partitions: the tensors that cross, their bytes, and what the transitions cost. Pure.

import { bytes, duration } from "../../base/format";
import type { PlanInfo, PlanPartition, PlanTransition } from "../protocol";

const HOST = "host";

interface Ends {
  from: number;
  to: number;
  tensors: readonly string[];
}

export interface Crossing {
  /** "1.2 MB · 12 µs": what is drawn beside the edge. */
  readonly label: string;
  /** "conv1: 1.2 MB from tvm to ncnn, transfer 12 µs": one for each tensor. */
  readonly lines: string[];
}

/**
 * The edges between nodes of different partitions, or between a node and an input or output of the model (whose box is no node), with
 * what crosses there. Edges of folded groups have none.
 */
export function crossings<T extends Ends>(edges: readonly T[], partitionOf: ReadonlyMap<number, PlanPartition>, plan: PlanInfo, isTerminal: (box: number) => boolean): ReadonlyMap<T, Crossing> {
  const byTensor = new Map<string, PlanTransition[]>();
  for (const one of plan.transitions) byTensor.set(one.tensor, [...(byTensor.get(one.tensor) ?? []), one]);
  const targetOf = (box: number): string | undefined => (isTerminal(box) ? HOST : partitionOf.get(box)?.target);
  const found = new Map<T, Crossing>();
  for (const edge of edges) {
    const [from, to] = [targetOf(edge.from), targetOf(edge.to)];
    if (from === undefined || to === undefined || partitionOf.get(edge.from) === partitionOf.get(edge.to)) continue;
    const moved = edge.tensors.flatMap((tensor) => byTensor.get(tensor)?.find((one) => one.from === from && one.to === to) ?? []);
    if (moved.length > 0) found.set(edge, crossingOf(moved));
  }
  return found;
}

/** The words are made when they are asked for, once: most edges of a large model are never near enough to have a label. */
function crossingOf(moved: readonly PlanTransition[]): Crossing {
  const sum = (of: "bytes" | "cost_s"): number => moved.reduce((total, one) => total + one[of], 0);
  let label: string | null = null;
  return {
    get label() {
      return (label ??= `${bytes(sum("bytes"))} · ${duration(sum("cost_s"))}`);
    },
    get lines() {
      return moved.map((one) => `${one.tensor}: ${bytes(one.bytes)} from ${one.from} to ${one.to}, transfer ${duration(one.cost_s)}`);
    },
  };
}
