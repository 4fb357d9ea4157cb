// The words for edges between two partitions: the tensors that cross, their bytes, and what the transitions cost. Pure.

import { bytes, duration } from "../../base/format";
import type { PlanCopy, PlanInfo, PlanPartition, PlanTransition } from "../protocol";
import { HOST, locationOf } from "./locations";

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
  /** A tensor is copied from one location to another here. */
  readonly isCopied: boolean;
}

/**
 * The edges between nodes of different partitions, or between a node and an input or output of the model (whose box is no node), with
 * what crosses there, and the copies by which it gets to the reader's location. Edges of folded groups have none.
 */
export function crossings<T extends Ends>(edges: readonly T[], partitionOf: ReadonlyMap<number, PlanPartition>, plan: PlanInfo, isTerminal: (box: number) => boolean): ReadonlyMap<T, Crossing> {
  const [byTensor, copiesOf] = [grouped(plan.transitions), grouped(plan.copies ?? [])];
  const targetOf = (box: number): string | undefined => (isTerminal(box) ? HOST : partitionOf.get(box)?.target);
  const found = new Map<T, Crossing>();
  for (const edge of edges) {
    const [from, to] = [targetOf(edge.from), targetOf(edge.to)];
    if (from === undefined || to === undefined || partitionOf.get(edge.from) === partitionOf.get(edge.to)) continue;
    const moved = edge.tensors.flatMap((tensor) => byTensor.get(tensor)?.find((one) => one.from === from && one.to === to) ?? []);
    const [source, end] = [locationOf(partitionOf.get(edge.from)), locationOf(partitionOf.get(edge.to))];
    const copied = source === end ? [] : edge.tensors.flatMap((tensor) => routeTo(end, copiesOf.get(tensor) ?? []));
    if (moved.length + copied.length > 0) found.set(edge, crossingOf(moved, copied));
  }
  return found;
}

function grouped<T extends { tensor: string }>(rows: readonly T[]): Map<string, T[]> {
  const found = new Map<string, T[]>();
  for (const row of rows) found.set(row.tensor, [...(found.get(row.tensor) ?? []), row]);
  return found;
}

/** The copies by which a tensor gets to a location, the first one first; each location is entered once. */
function routeTo(end: string, copies: readonly PlanCopy[]): PlanCopy[] {
  const last = copies.find((copy) => copy.to === end);
  return last ? [...routeTo(last.from, copies.filter((copy) => copy !== last)), last] : [];
}

/** The words are made when they are asked for, once: most edges of a large model are never near enough to have a label. */
function crossingOf(moved: readonly PlanTransition[], copied: readonly PlanCopy[]): Crossing {
  const sum = (of: "bytes" | "cost_s", rows: readonly { bytes: number; cost_s: number }[]): number => rows.reduce((total, one) => total + one[of], 0);
  const across = moved.length > 0 ? moved : copied;
  let label: string | null = null;
  return {
    get label() {
      return (label ??= `${copied.length > 0 ? "copy " : ""}${bytes(sum("bytes", across))} · ${duration(sum("cost_s", [...moved, ...copied]))}`);
    },
    get lines() {
      const lines = moved.map((one) => `${one.tensor}: ${bytes(one.bytes)} from ${one.from} to ${one.to}, transfer ${duration(one.cost_s)}`);
      return [...lines, ...copied.map((one) => `${one.tensor}: ${bytes(one.bytes)} copied from ${one.from} to ${one.to}, ${duration(one.cost_s)} (${one.basis})`)];
    },
    isCopied: copied.length > 0,
  };
}
