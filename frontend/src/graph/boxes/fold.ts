// Folds groups of a graph into one box each: which box is drawn for which, and the edges and the order of the drawn boxes. Pure.

import { eachOf, type LongWork } from "../../base/long_work";
import type { NodeJson } from "../../data/protocol";
import { markStubs, type Box, type BuiltGraph, type Edge } from "./build";
import { groupBox, type Group, type GroupTree } from "./groups";

/** A graph as it is drawn: boxes that a folded group hides are in `boxes`, but not in `order`. */
export interface ShownGraph extends BuiltGraph {
  /** For each box the box that is drawn for it: itself, or the folded group that hides it. */
  holder: Int32Array;
  /** The folded groups by their boxes. */
  groupAt: ReadonlyMap<number, Group>;
  /** The boxes of all groups, folded or not. */
  boxOf: ReadonlyMap<Group, number>;
  /** The visible unfolded groups, outer ones first. */
  unfolded: readonly Group[];
}

/** Fold every group of the tree but those in `open`. Nothing is folded where the folded groups would form a cycle. */
export function* folding(built: BuiltGraph, nodes: readonly NodeJson[], tree: GroupTree, open: ReadonlySet<string>): LongWork<ShownGraph> {
  const boxOf = new Map(tree.all.map((group, i): [Group, number] => [group, built.boxes.length + i]));
  const boxes: Box[] = [...built.boxes];
  yield* eachOf(tree.all, (group) => boxes.push(groupBox(boxOf.get(group) ?? 0, group, nodes)));
  const { folded, unfolded } = byState(tree, open);
  const holder = Int32Array.from(boxes, (_, id) => id);
  for (const group of folded) for (const node of group.nodes) holder[node] = boxOf.get(group) ?? node;
  yield;
  const edges = folded.length > 0 ? yield* joining(built.edges, holder) : built.edges;
  const order = folded.length > 0 ? orderOf(built, edges, holder) : built.order;
  if (!order) return yield* folding(built, nodes, tree, new Set(tree.byId.keys()));
  yield;
  if (folded.length > 0) markStubs(edges, order);
  const groupAt = new Map(folded.map((group): [number, Group] => [boxOf.get(group) ?? 0, group]));
  return { boxes, edges, order, nodeCount: built.nodeCount, holder, groupAt, boxOf, unfolded };
}

/** The folded groups, drawn as a box, and the unfolded ones, drawn as a frame around their nodes. */
function byState(tree: GroupTree, open: ReadonlySet<string>): { folded: Group[]; unfolded: Group[] } {
  const [folded, unfolded]: [Group[], Group[]] = [[], []];
  const visit = (group: Group): void => {
    if (!open.has(group.id)) {
      folded.push(group);
      return;
    }
    unfolded.push(group);
    group.inner.forEach(visit);
  };
  tree.roots.forEach(visit);
  return { folded, unfolded };
}

/** One edge for each pair of drawn boxes; edges inside a folded group are left out. */
function* joining(edges: readonly Edge[], holder: Int32Array): LongWork<Edge[]> {
  const found = new Map<number, Map<number, Edge>>();
  const made: Edge[] = [];
  yield* eachOf(edges, (edge) => {
    const [from, to] = [holder[edge.from] ?? 0, holder[edge.to] ?? 0];
    if (from === to) return;
    const mine = found.get(from) ?? new Map<number, Edge>();
    found.set(from, mine);
    const known = mine.get(to);
    if (!known) {
      const next = { ...edge, from, to, isStub: false };
      mine.set(to, next);
      made.push(next);
      return;
    }
    known.tensors = [...new Set([...known.tensors, ...edge.tensors])];
    if (known.tensors.length > 1) known.label = `${known.tensors.length} tensors`;
  });
  return made;
}

/** The drawn boxes in a topological order, as near to the model's own as possible; undefined where there is a cycle. */
function orderOf(built: BuiltGraph, edges: readonly Edge[], holder: Int32Array): number[] | undefined {
  const reads = new Map<number, number[]>();
  for (const { from, to } of edges) {
    const list = reads.get(to);
    if (list) list.push(from);
    else reads.set(to, [from]);
  }
  const order: number[] = [];
  const state = new Map<number, "open" | "done">();
  for (const start of new Set(built.order.map((id) => holder[id] ?? id))) {
    const way = [start];
    for (let box = way.at(-1); box !== undefined; box = way.at(-1)) {
      const missing = state.get(box) === "done" ? [] : (reads.get(box) ?? []).filter((one) => state.get(one) !== "done");
      if (missing.some((one) => state.get(one) === "open")) return undefined;
      if (missing.length === 0) {
        way.pop();
        if (state.get(box) !== "done") order.push(box);
        state.set(box, "done");
        continue;
      }
      state.set(box, "open");
      way.push(...missing.reverse());
    }
  }
  return order;
}
