// The trees of groups by which a model can be folded: repeated blocks, name scopes, partitions, or sections of a long model. Pure.

import { printable } from "../../base/printable";
import type { ModelGroups, NodeGroupJson, NodeJson, PlanPartition } from "../../data/protocol";
import type { Box, Row } from "./build";

export const GROUPINGS = ["nothing", "repeats", "scopes", "partitions", "sections"] as const;
export type Grouping = (typeof GROUPINGS)[number];

export interface Group {
  /** The first node and the number of nodes: the same in every tree of the model, and used in the address. */
  id: string;
  name: string;
  /** Ascending. */
  nodes: readonly number[];
  /** The number of equal blocks in it; 1 for a group that is no repeat. */
  times: number;
  /** True if its blocks differ in their sizes. */
  sizesDiffer: boolean;
  parent: Group | undefined;
  inner: Group[];
}

export interface GroupTree {
  roots: readonly Group[];
  /** All groups, each before those inside it. */
  all: readonly Group[];
  byId: ReadonlyMap<string, Group>;
}

export interface Fold {
  by: Grouping;
  tree: GroupTree;
  /** Ids of the groups that are unfolded. */
  open: ReadonlySet<string>;
}

export const NO_GROUPS: GroupTree = treeOf([]);

/** The tree of groups of a model for one grouping. */
export function groupTree(by: Grouping, groups: ModelGroups, partitions: readonly PlanPartition[]): GroupTree {
  switch (by) {
    case "nothing":
      return NO_GROUPS;
    case "repeats":
      return treeOf(groups.repeats.map(withBlocks));
    case "scopes":
      return treeOf(nested(groups.scopes));
    case "partitions":
      return treeOf(partitions.filter(isGroup).map((one) => made([...one.nodes].sort((a, b) => a - b), one.target)));
    case "sections":
      return treeOf(groups.sections.map(plain));
  }
}

/** The number of roots of the tree, without building it. */
export function groupCount(by: Grouping, groups: ModelGroups, partitions: readonly PlanPartition[]): number {
  return by === "nothing" ? 0 : by === "partitions" ? partitions.filter(isGroup).length : outermost(groups[by]).length;
}

function isGroup({ nodes }: PlanPartition): boolean {
  return nodes.length > 1;
}

function made(nodes: readonly number[], name: string, times = 1, sizesDiffer = false, parent?: Group): Group {
  return { id: `${nodes[0] ?? 0}.${nodes.length}`, name, nodes, times, sizesDiffer: sizesDiffer, parent, inner: [] };
}

function stretch(first: number, count: number): number[] {
  return Array.from({ length: count }, (_, i) => first + i);
}

function plain({ first, count, name }: NodeGroupJson): Group {
  return made(stretch(first, count), name);
}

/** A run of equal blocks, with each block inside it. */
function withBlocks({ first, count, name, times, is_alike }: NodeGroupJson): Group {
  const run = made(stretch(first, count), name, times, is_alike);
  const length = count / times;
  run.inner = Array.from({ length: times }, (_, i) => made(stretch(first + i * length, length), `${name} ${i + 1}`, 1, false, run));
  return run;
}

/** Scopes as a tree; a scope inside another is named without the prefix of the outer one. */
function nested(scopes: readonly NodeGroupJson[]): Group[] {
  const roots: Group[] = [];
  const around: { group: Group; name: string; after: number }[] = [];
  for (const scope of scopes) {
    while (around.length > 0 && (around.at(-1)?.after ?? 0) <= scope.first) around.pop();
    const outer = around.at(-1);
    const name = outer && scope.name.startsWith(`${outer.name}/`) ? scope.name.slice(outer.name.length + 1) : scope.name;
    const group = made(stretch(scope.first, scope.count), name, 1, false, outer?.group);
    (outer?.group.inner ?? roots).push(group);
    around.push({ group, name: scope.name, after: scope.first + scope.count });
  }
  return roots;
}

function treeOf(roots: readonly Group[]): GroupTree {
  const all: Group[] = [];
  const add = (siblings: readonly Group[]): void => {
    number(siblings);
    for (const group of siblings) {
      all.push(group);
      add(group.inner);
    }
  };
  add(roots);
  return { roots, all, byId: new Map(all.map((group) => [group.id, group])) };
}

/** Tell groups of one name apart: a scope whose nodes are in several stretches of the order is several groups. */
function number(siblings: readonly Group[]): void {
  const counts = new Map<string, number>();
  for (const { name } of siblings) counts.set(name, (counts.get(name) ?? 0) + 1);
  const numbers = new Map<string, number>();
  for (const group of siblings) {
    const { name } = group;
    const of = counts.get(name) ?? 1;
    const at = (numbers.get(name) ?? 0) + 1;
    numbers.set(name, at);
    if (of > 1) group.name = `${name} (${at} of ${of})`;
  }
}

/** A model of at least this many nodes opens folded, into fewer boxes than that. */
export const FOLDS_FROM = 150;
/** So many boxes have titles that can be read in a window: a grouping into fewer goes before one into more, which tells more of each node. */
export const READABLE = 75;
/** Less would be one box for nearly everything. */
const LEAST_BITS = 0.95;
/** Another grouping says more only by this factor; of two that say the same, repeated blocks come first. */
const MORE = 1.05;

/** The grouping with which a model opens: of those that leave boxes that can be read, or else few boxes, the one that says most. */
export function openingGrouping(nodes: number, groups: ModelGroups, partitions: readonly PlanPartition[]): Grouping {
  if (nodes < FOLDS_FROM) return "nothing";
  const readable = bestGrouping(nodes, groups, partitions, READABLE);
  return readable === "sections" ? bestGrouping(nodes, groups, partitions, FOLDS_FROM) : readable;
}

/** The grouping into fewer than `most` boxes that says most; sections where none says enough. */
function bestGrouping(nodes: number, groups: ModelGroups, partitions: readonly PlanPartition[], most: number): Grouping {
  const sizes = partitions.filter(isGroup).map((one) => ({ count: one.nodes.length, times: 1 }));
  const kinds: [Grouping, { count: number; times: number }[]][] = [["repeats", outermost(groups.repeats)], ["partitions", sizes], ["scopes", outermost(groups.scopes)]];
  let [best, mostBits]: [Grouping, number] = ["sections", LEAST_BITS];
  for (const [by, found] of kinds) {
    const single = found.reduce((left, one) => left - one.count, nodes);
    const bits = bitsOf(nodes, found, single);
    if (single + found.length < most && bits > mostBits * (best === "sections" ? 1 : MORE)) [best, mostBits] = [by, bits];
  }
  return best;
}

/** How much one learns of a node from the box, or the equal block of it, that holds the node: the entropy in bits. */
function bitsOf(nodes: number, groups: readonly { count: number; times: number }[], single: number): number {
  const grouped = groups.reduce((sum, { count, times }) => sum + (count / nodes) * Math.log2((nodes * times) / count), 0);
  return grouped + (single / nodes) * Math.log2(nodes);
}

/** The fold that an address asks for. */
export interface WantedFold {
  /** Null to let the page choose. */
  by: Grouping | null;
  open: readonly string[];
  /** A node that must be visible; null for none. */
  node: number | null;
}

/** The wanted fold, without groups that do not exist. */
export function foldOf(groups: ModelGroups, nodes: number, partitions: readonly PlanPartition[], wanted: WantedFold): Fold {
  const by = wanted.by ?? openingGrouping(nodes, groups, partitions);
  const tree = groupTree(by, groups, partitions);
  const around = wanted.node === null ? [] : groupsAround(tree, wanted.node).map((group) => group.id);
  return { by, tree, open: new Set([...wanted.open.filter((id) => tree.byId.has(id)), ...around]) };
}

/** The groups that are inside no other. */
function outermost(groups: readonly NodeGroupJson[]): NodeGroupJson[] {
  let after = 0;
  return groups.filter(({ first, count }) => {
    if (first < after) return false;
    after = first + count;
    return true;
  });
}

/** The groups that hold a node, the outermost first. */
export function groupsAround(tree: GroupTree, node: number): Group[] {
  const found: Group[] = [];
  let inside: readonly Group[] = tree.roots;
  for (;;) {
    const next = inside.find((group) => holds(group, node));
    if (!next) return found;
    found.push(next);
    inside = next.inner;
  }
}

function holds({ nodes }: Group, node: number): boolean {
  const [first, last] = [nodes[0] ?? 0, nodes.at(-1) ?? -1];
  if (node < first || node > last) return false;
  return last - first + 1 === nodes.length || nodes.includes(node);
}

/** The box of a folded group, with its name, its number of nodes and its most frequent operators. */
export function groupBox(id: number, group: Group, nodes: readonly NodeJson[]): Box {
  return { id, kind: "group", title: groupTitle(group), name: group.name, category: "other", rows: rowsOf(group, nodes), isHost: false };
}

/** "encoder layer ×12". */
export function groupTitle({ name, times }: Group): string {
  return times > 1 ? `${printable(name)} ×${times}` : printable(name);
}

const OPERATORS_SHOWN = 3;

function rowsOf(group: Group, nodes: readonly NodeJson[]): Row[] {
  const each = group.nodes.length / group.times;
  const counts = new Map<string, number>();
  for (const node of group.nodes.slice(0, each)) {
    const op = nodes[node]?.op ?? "";
    const short = printable(op.slice(op.lastIndexOf(".") + 1));
    counts.set(short, (counts.get(short) ?? 0) + 1);
  }
  const frequent = [...counts].sort((a, b) => b[1] - a[1]);
  const words = frequent.slice(0, OPERATORS_SHOWN).map(([op, count]) => (count > 1 ? `${count} ${op}` : op));
  const size = group.times > 1 ? `${group.times} × ${each} nodes${group.sizesDiffer ? ", sizes differ" : ""}` : `${each} nodes`;
  return [
    { name: "", text: size },
    { name: "", text: `${words.join(", ")}${frequent.length > OPERATORS_SHOWN ? " …" : ""}` },
  ];
}
