// Finds boxes by their name, operator or tensors, best first; and operators by their name. Pure.

import type { BuiltGraph } from "./build";

export interface Found {
  box: number;
  title: string;
  /** What matched, in words: a name, or a tensor. */
  detail: string;
}

const MOST = 200;

/** The boxes that match every word of `query`. */
export function find(graph: BuiltGraph, tensorsOf: (box: number) => readonly string[], query: string): Found[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const found: { rank: number; item: Found }[] = [];
  for (const box of graph.boxes) {
    const title = box.title.toLowerCase();
    const name = box.name.toLowerCase();
    const tensor = tensorsOf(box.id).find((one) => words.every((word) => one.toLowerCase().includes(word)));
    const isByName = words.every((word) => title.includes(word) || name.includes(word));
    if (!isByName && tensor === undefined) continue;
    const text = words.join(" ");
    const rank = title === text || name === text ? 0 : title.startsWith(text) ? 1 : name.startsWith(text) ? 2 : isByName ? 3 : 4;
    found.push({ rank, item: { box: box.id, title: box.title, detail: isByName ? box.name : `tensor ${tensor ?? ""}` } });
  }
  found.sort((a, b) => a.rank - b.rank || a.item.box - b.item.box);
  return found.slice(0, MOST).map((one) => one.item);
}

export interface FoundOp {
  op: string;
  nodes: number[];
}

/** The operators with several nodes whose name holds `query`, in the order of the model. */
export function findOps(nodes: readonly { id: number; op: string }[], query: string): FoundOp[] {
  const wanted = query.trim().toLowerCase();
  const found = new Map<string, number[]>();
  for (const { id, op } of nodes) if (wanted !== "" && op.toLowerCase().includes(wanted)) found.set(op, [...(found.get(op) ?? []), id]);
  return [...found].filter(([, all]) => all.length > 1).map(([op, all]) => ({ op, nodes: all }));
}
