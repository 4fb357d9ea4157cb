// Finds boxes by their names, operators or tensors, the best match first, and operators by their names. Pure.

import type { Box, BuiltGraph } from "./build";

export interface FoundBox {
  box: number;
  title: string;
  /** The matching name or tensor. */
  detail: string;
}

/** A box with its texts in lower case, made once for a model and not at each key. */
export interface SearchableBox {
  box: Box;
  title: string;
  name: string;
  tensors: readonly string[];
  small: readonly string[];
}

/** All boxes of a graph, ready to be searched. */
export function searchableBoxes(graph: BuiltGraph, tensorsOf: (box: number) => readonly string[]): SearchableBox[] {
  return graph.boxes.map((box) => {
    const tensors = tensorsOf(box.id);
    return { box, title: box.title.toLowerCase(), name: box.name.toLowerCase(), tensors, small: tensors.map((one) => one.toLowerCase()) };
  });
}

const MOST = 200;
const RANKS = 5;

/** The boxes that match every word of `query`. */
export function findBoxes(among: readonly SearchableBox[], query: string): FoundBox[] {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  if (words.length === 0) return [];
  const text = words.join(" ");
  const found: FoundBox[][] = Array.from({ length: RANKS }, () => []);
  for (const { box, title, name, tensors, small } of among) {
    const tensor = small.findIndex((one) => words.every((word) => one.includes(word)));
    const isByName = words.every((word) => title.includes(word) || name.includes(word));
    if (!isByName && tensor < 0) continue;
    const rank = title === text || name === text ? 0 : title.startsWith(text) ? 1 : name.startsWith(text) ? 2 : isByName ? 3 : 4;
    found[rank]?.push({ box: box.id, title: box.title, detail: isByName ? box.name : `tensor ${tensors[tensor] ?? ""}` });
  }
  return found.flat().slice(0, MOST);
}

export interface FoundOp {
  op: string;
  nodes: number[];
}

/** The operators whose names contain `query` and that have several nodes, in the order of the model. */
export function findOps(nodes: readonly { id: number; op: string }[], query: string): FoundOp[] {
  const wanted = query.trim().toLowerCase();
  if (wanted === "") return [];
  const all = new Map<string, number[]>();
  for (const { id, op } of nodes) {
    const known = all.get(op);
    if (known) known.push(id);
    else all.set(op, [id]);
  }
  const found = [...all].filter(([op]) => op.toLowerCase().includes(wanted));
  return found.filter(([, same]) => same.length > 1).map(([op, same]) => ({ op, nodes: same }));
}
