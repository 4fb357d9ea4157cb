// The icicle of a plan's time: model, blocks, partitions, kernels, each as wide as its time. A plan and its groups enter; a tree, and the
// cells of its rows, leave. Pure.

import type { NodeJson, PlanInfo, PlanPartition } from "../protocol";
import { kernelTitle, type KernelTime } from "./node_times";
import { movesOf } from "./summary";

/** A stretch of nodes that the model repeats or names. */
export interface Block {
  id: string;
  name: string;
  times: number;
  nodes: readonly number[];
  inner: readonly Block[];
}

export interface Part {
  /** Unique in the tree, and the same for the same part after every change of the plan. */
  key: string;
  kind: "model" | "block" | "partition" | "kernel" | "transitions";
  title: string;
  seconds: number;
  /** Ascending. */
  nodes: number[];
  partition: PlanPartition | undefined;
  kernel: KernelTime | undefined;
  inner: Part[];
}

/** The whole time of a plan; partitions of unknown cost have no part in it. */
export function icicle(model: string, plan: PlanInfo, kernels: ReadonlyMap<number, KernelTime>, blocks: readonly Block[], nodes: readonly NodeJson[]): Part {
  const root = part("model", "", model);
  const known = new Map<string, Part>();
  for (const partition of plan.partitions) {
    if (partition.cost_s === null || partition.target === "host") continue;
    for (const unit of unitsOf(partition, kernels, nodes)) add(root, unit, partition, blocks, known);
  }
  settle(root);
  const transitionS = movesOf(plan);
  if (transitionS > 0) root.inner.push({ ...part("transitions", "/transitions", "transitions"), seconds: transitionS });
  root.seconds += transitionS;
  return root;
}

interface Unit {
  title: string;
  nodes: readonly number[];
  seconds: number;
  kernel: KernelTime | undefined;
}

/** The kernels of a partition, and what belongs to none of its nodes; the whole partition where nobody knows its kernels. */
function unitsOf(partition: PlanPartition, kernels: ReadonlyMap<number, KernelTime>, nodes: readonly NodeJson[]): Unit[] {
  const costS = partition.cost_s ?? 0;
  const known = new Set(partition.nodes.flatMap((node) => kernels.get(node) ?? []));
  const units = [...known].map((kernel): Unit => ({ title: kernelTitle(kernel.nodes, nodes), nodes: kernel.nodes, seconds: kernel.seconds ?? 0, kernel }));
  const restS = units.reduce((left, unit) => left - unit.seconds, costS);
  const first = partition.nodes.slice(0, 1);
  if (known.size === 0) return [{ title: "not known inside", nodes: partition.nodes, seconds: costS, kernel: undefined }];
  return restS > LEAST_REST * costS ? [...units, { title: "between kernels", nodes: first, seconds: restS, kernel: undefined }] : units;
}

const LEAST_REST = 0.001;
const BLOCK_LEVELS = 2;

/** The blocks that hold a node, the outermost first. */
function blocksAround(roots: readonly Block[], node: number): Block[] {
  const found: Block[] = [];
  let inside = roots;
  while (found.length < BLOCK_LEVELS) {
    const next = inside.find(({ nodes }) => (nodes[0] ?? 0) <= node && node <= (nodes[nodes.length - 1] ?? -1));
    if (!next) break;
    found.push(next);
    inside = next.inner;
  }
  return found;
}

function add(root: Part, unit: Unit, partition: PlanPartition, blocks: readonly Block[], known: Map<string, Part>): void {
  const first = unit.nodes[0] ?? 0;
  const around = blocksAround(blocks, first);
  let at = grown(root, unit);
  for (const block of around) at = grown(child(known, at, "block", `${at.key}/${block.id}`, block.times > 1 ? `${block.name} ×${block.times}` : block.name), unit);
  // Nodes in no block stand before, between or after blocks, and not in one part of them all.
  const stretch = around.length > 0 ? "" : `.${blocks.filter((block) => (block.nodes[0] ?? 0) <= first).length}`;
  const holder = child(known, at, "partition", `${at.key}/${partition.id}${stretch}`, partition.target);
  holder.partition = partition;
  grown(holder, unit);
  const leaf = child(known, holder, "kernel", `${holder.key}/${unit.kernel ? (unit.nodes[0] ?? 0) : "rest"}`, unit.title);
  leaf.partition = partition;
  leaf.kernel = unit.kernel;
  grown(leaf, unit);
}

function part(kind: Part["kind"], key: string, title: string): Part {
  return { key, kind, title, seconds: 0, nodes: [], partition: undefined, kernel: undefined, inner: [] };
}

/** The part with the key inside another; `known` has all parts by their keys. */
function child(known: Map<string, Part>, of: Part, kind: Part["kind"], key: string, title: string): Part {
  const found = known.get(key);
  if (found) return found;
  const made = part(kind, key, title);
  known.set(key, made);
  of.inner.push(made);
  return made;
}

function grown(to: Part, unit: Unit): Part {
  to.seconds += unit.seconds;
  to.nodes.push(...unit.nodes);
  return to;
}

/** Put the parts of a part in the order of the model, and leave out a kernel that is its whole partition. */
function settle(one: Part): void {
  one.inner.forEach(settle);
  one.nodes = [...new Set(one.nodes)].sort((a, b) => a - b);
  one.inner.sort((a, b) => (a.nodes[0] ?? 0) - (b.nodes[0] ?? 0) || a.key.length - b.key.length);
  const only = one.inner[0];
  if (one.kind !== "partition" || one.inner.length !== 1 || !only || only.nodes.length !== one.partition?.nodes.length) return;
  one.kernel = only.kernel;
  one.inner = [];
}

/** A part on its row, with its left edge and width as shares of the whole width. */
export interface Cell {
  part: Part;
  row: number;
  left: number;
  width: number;
}

/** The cells of the tree with the part `focus` as wide as all, those around it above it; narrower ones than `least` are left out. */
export function cellsOf(root: Part, focus: string, least: number): Cell[] {
  const path = pathTo(root, focus) ?? [root];
  const cells: Cell[] = path.map((one, row) => ({ part: one, row, left: 0, width: 1 }));
  const shown = path[path.length - 1] ?? root;
  spread(shown, path.length, 0, shown.seconds, least, cells);
  return cells;
}

function spread(of: Part, row: number, from: number, wholeS: number, least: number, cells: Cell[]): void {
  let left = from;
  for (const one of of.inner) {
    const width = wholeS > 0 ? one.seconds / wholeS : 0;
    if (width >= least) {
      cells.push({ part: one, row, left, width });
      spread(one, row + 1, left, wholeS, least, cells);
    }
    left += width;
  }
}

/** The parts from the root to the one with the key; undefined where there is none. */
function pathTo(from: Part, key: string): Part[] | undefined {
  if (from.key === key) return [from];
  for (const inner of from.inner) {
    const rest = key.startsWith(inner.key) ? pathTo(inner, key) : undefined;
    if (rest) return [from, ...rest];
  }
  return undefined;
}
