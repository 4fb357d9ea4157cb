// Builds the boxes and edges that are drawn from the model's dataflow graph; their sizes and positions come later. Constants are rows
// inside their node. Edges that run far and fan out wide (masks, shared tensors) are marked as stubs: the layout leaves them out, and
// they are drawn as a short end at their reader. Pure.

import { attribute, shape } from "../../base/format";
import { eachOf, type LongWork } from "../../base/long_work";
import { printable } from "../../base/printable";
import { formalInput, type FormalInputs } from "../../data/model/formal_inputs";
import { shapeOf, typeOf } from "../../data/model/tensors";
import type { ConstantJson, GraphJson, NodeJson } from "../../data/protocol";
import { categoryOf, type Category } from "./categories";

/** A line inside a box, printable: the name in bold, then the text. */
export interface Row {
  name: string;
  text: string;
}

export interface Box {
  /** Its index in `BuiltGraph.boxes`: nodes first, with their own index, then the model's inputs, its outputs, and groups. */
  id: number;
  kind: "node" | "input" | "output" | "group";
  /** As it is drawn, printable. */
  title: string;
  /** The name of the node, tensor or group, as the model has it. */
  name: string;
  category: Category;
  rows: Row[];
  /** True if the node is left to the host, and so on no target. */
  isHost: boolean;
}

export interface Edge {
  from: number;
  to: number;
  /** The tensors that flow along the edge. */
  tensors: string[];
  label: string;
  isStub: boolean;
}

export interface BuiltGraph {
  boxes: Box[];
  edges: Edge[];
  /** The ids of the drawn boxes in a topological order, in which every source is just before its first reader. */
  order: number[];
  nodeCount: number;
}

/** The boxes and edges of a graph; `formal` names the inputs of its operators. */
export function* building(graph: GraphJson, formal: FormalInputs): LongWork<BuiltGraph> {
  const boxes: Box[] = [];
  const producer = new Map<string, number>();
  const types = new Map<string, string>();
  yield* eachOf(graph.nodes, (node) => {
    boxes.push(nodeBox(node, graph.constants, formal));
    for (const tensor of node.outputs) {
      producer.set(tensor.name, node.id);
      types.set(tensor.name, shapeOf(tensor));
    }
  });
  for (const tensor of graph.inputs) {
    const text = typeOf(tensor);
    producer.set(tensor.name, boxes.length);
    types.set(tensor.name, shapeOf(tensor));
    boxes.push({ id: boxes.length, kind: "input", title: printable(tensor.name), name: tensor.name, category: "other", rows: [{ name: "", text }], isHost: false });
  }
  const readers = graph.nodes.map((node): [number, string[]] => [node.id, node.inputs]);
  for (const name of graph.outputs) {
    readers.push([boxes.length, [name]]);
    const text = types.get(name);
    boxes.push({ id: boxes.length, kind: "output", title: printable(name), name, category: "other", rows: text ? [{ name: "", text }] : [], isHost: false });
  }
  const edges = yield* connecting(readers, graph.nodes.length, producer, types);
  const order = drawingOrder(boxes, edges, graph.nodes.length);
  yield;
  markStubs(edges, order);
  return { boxes, edges, order, nodeCount: graph.nodes.length };
}

function nodeBox(node: NodeJson, constants: Record<string, ConstantJson>, formal: FormalInputs): Box {
  const rows: Row[] = [];
  node.inputs.slice(0, node.inputs.length - (node.captured ?? 0)).forEach((name, index) => {
    const constant = constants[name];
    if (constant) rows.push({ name: printable(formalInput(formal, node.op, index, name)), text: constantText(constant) });
  });
  for (const [name, value] of Object.entries(node.attributes)) {
    if (isTelling(name, value)) rows.push({ name: printable(name), text: clip(printable(attribute(value)), 28) });
  }
  const title = printable(node.op.slice(node.op.lastIndexOf(".") + 1));
  return { id: node.id, kind: "node", title, name: node.name, category: categoryOf(node.op), rows, isHost: node.host };
}

/** A constant in a row: a weight by its shape, ⟨64×3×7×7⟩; few values as they are. */
function constantText(constant: ConstantJson): string {
  if (constant.value && constant.value.length <= 4) return `= ${clip(printable(attribute(constant.value)), 24)}`;
  return `⟨${shape(constant.shape)}⟩`;
}

function clip(text: string, length: number): string {
  return text.length <= length ? text : `${text.slice(0, length - 1)}…`;
}

const NEUTRAL: Record<string, number> = { strides: 1, dilations: 1, group: 1, pads: 0, alpha: 1, beta: 1, ceil_mode: 0, storage_order: 0, transA: 0, count_include_pad: 0 };
const HIDDEN = new Set(["kernel_shape", "auto_pad", "epsilon", "momentum", "training_mode", "spatial", "allowzero", "axis_default", "noop_with_empty_axes"]);

/** True if an attribute is worth a row: it is not implied by the operator or the weights, and not at its neutral value. */
function isTelling(name: string, value: unknown): boolean {
  if (HIDDEN.has(name)) return false;
  const neutral = NEUTRAL[name];
  if (neutral === undefined) return true;
  return Array.isArray(value) ? value.some((item) => item !== neutral) : value !== neutral;
}

/** One edge for each pair of boxes, however many tensors flow between them. */
function* connecting(readers: [number, string[]][], nodeCount: number, producer: Map<string, number>, types: Map<string, string>): LongWork<Edge[]> {
  const edges: Edge[] = [];
  yield* eachOf(readers, ([to, names]) => {
    const mine = new Map<number, Edge>();
    for (const name of new Set(names)) {
      const from = producer.get(name);
      // In the graph of a broken file a tensor may be read before it is made; the layout has no edge that runs backwards.
      if (from === undefined || (from < nodeCount && from >= to)) continue;
      const edge = mine.get(from);
      if (edge) {
        edge.tensors.push(name);
        edge.label = `${edge.tensors.length} tensors`;
      } else {
        mine.set(from, { from, to, tensors: [name], label: types.get(name) ?? "", isStub: false });
      }
    }
    edges.push(...mine.values());
  });
  return edges;
}

/** The model's order, with each source moved to just before its first reader and each output to just after its producer. */
function drawingOrder(boxes: Box[], edges: Edge[], nodeCount: number): number[] {
  const producerOf = new Int32Array(boxes.length).fill(-1);
  const firstReader = new Float64Array(boxes.length).fill(Infinity);
  for (const { from, to } of edges) {
    producerOf[to] = from;
    if (to < nodeCount) firstReader[from] = Math.min(firstReader[from] ?? Infinity, to);
  }
  const rank = (id: number): number => {
    const producer = producerOf[id] ?? -1;
    if (producer < 0) return (Number.isFinite(firstReader[id]) ? (firstReader[id] ?? 0) : 0) - 0.5;
    return id < nodeCount ? id : rank(producer) + 0.25;
  };
  const ranks = Float64Array.from(boxes, (box) => rank(box.id));
  return boxes.map((box) => box.id).sort((a, b) => (ranks[a] ?? 0) - (ranks[b] ?? 0) || a - b);
}

const FAR_RANKS = 12;
const WIDE_FAN_OUT = 4;
const VERY_FAR_RANKS = 120;

/** Mark as stubs the edges that would stretch the layout: far ones of a wide fan-out but for the nearest, and very far ones. */
export function markStubs(edges: readonly Edge[], order: readonly number[]): void {
  const { out, rank } = ranks(edges, order);
  for (const list of out) {
    const nearest = list.reduce((least, edge) => Math.min(least, span(edge, rank)), Infinity);
    for (const edge of list) {
      const length = span(edge, rank);
      const isFar = length > nearest && length > FAR_RANKS && list.length >= WIDE_FAN_OUT;
      edge.isStub = isFar || length > VERY_FAR_RANKS;
    }
  }
}

function span(edge: Edge, rank: Int32Array): number {
  return (rank[edge.to] ?? 0) - (rank[edge.from] ?? 0);
}

/** The edges out of each box, and its rank: one more than the highest that it reads; for a source one less than its first reader. */
function ranks(edges: readonly Edge[], order: readonly number[]): { out: Edge[][]; rank: Int32Array } {
  const size = order.reduce((most, id) => Math.max(most, id + 1), 0);
  const out: Edge[][] = Array.from({ length: size }, () => []);
  const rank = new Int32Array(size);
  const isRead = new Uint8Array(size);
  for (const edge of edges) {
    out[edge.from]?.push(edge);
    isRead[edge.to] = 1;
  }
  for (const id of order) for (const { to } of out[id] ?? []) rank[to] = Math.max(rank[to] ?? 0, (rank[id] ?? 0) + 1);
  for (const id of order) {
    const below = isRead[id] ? [] : (out[id] ?? []);
    if (below.length > 0) rank[id] = below.reduce((least, { to }) => Math.min(least, rank[to] ?? 0), Infinity) - 1;
  }
  return { out, rank };
}
