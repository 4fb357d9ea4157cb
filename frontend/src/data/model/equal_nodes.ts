// Finds sets of nodes that a model repeats. Two nodes are equal where their operators, attributes, tensor types and the shapes of
// their weights are equal; the values of large weights do not matter. Pure.

import type { GraphJson, NodeJson } from "../protocol";

export interface NodeIndex {
  /** For each node the number of its group; equal nodes share a group. */
  groups: readonly number[];
  /** The node that makes each tensor. */
  maker: ReadonlyMap<string, number>;
  /** For each node the nodes that read it. */
  readers: readonly (readonly number[])[];
  nodes: readonly NodeJson[];
  outputs: ReadonlySet<string>;
}

/** Index a graph for `repeatsOf`. */
export function indexNodes(graph: GraphJson): NodeIndex {
  const maker = new Map(graph.nodes.flatMap((node) => node.outputs.map((tensor): [string, number] => [tensor.name, node.id])));
  const types = new Map([...graph.inputs, ...graph.nodes.flatMap((node) => node.outputs)].map((tensor) => [tensor.name, `${tensor.dtype}${tensor.shape.join("x")} ${tensor.measured_shape?.join("x") ?? ""}`]));
  const readers = graph.nodes.map((): number[] => []);
  const numbers = new Map<string, number>();
  const groups = graph.nodes.map((node) => {
    for (const from of new Set(node.inputs.flatMap((name) => maker.get(name) ?? []))) readers[from]?.push(node.id);
    const key = computationKey(node, graph, types);
    const known = numbers.get(key) ?? numbers.size;
    numbers.set(key, known);
    return known;
  });
  return { groups: groups, maker, readers, nodes: graph.nodes, outputs: new Set(graph.outputs) };
}

function computationKey(node: NodeJson, graph: GraphJson, types: ReadonlyMap<string, string>): string {
  const inputs = node.inputs.map((name) => {
    const constant = graph.constants[name];
    return constant ? [constant.dtype, constant.shape, constant.value] : (types.get(name) ?? name);
  });
  const attributes = Object.entries(node.attributes).sort(([a], [b]) => (a < b ? -1 : 1));
  return JSON.stringify([node.op, attributes, inputs, node.outputs.map((tensor) => types.get(tensor.name))]);
}

/**
 * All repeats of a set of nodes, the set itself first: equal nodes at the same distances, connected in the same way, and read
 * from outside at the same nodes. Repeats do not overlap.
 */
export function repeatsOf(index: NodeIndex, nodes: readonly number[]): number[][] {
  const piece = [...nodes].sort((a, b) => a - b);
  const [first] = piece;
  if (first === undefined) return [];
  const wanted = connectionKey(index, piece);
  const found = [piece];
  const taken = new Set(piece);
  for (let start = 0; start < index.nodes.length; start++) {
    if (index.groups[start] !== index.groups[first]) continue;
    const repeat = piece.map((node) => node - first + start);
    const isSame = repeat.every((node, i) => !taken.has(node) && index.groups[node] === index.groups[piece[i] ?? -1]) && connectionKey(index, repeat) === wanted;
    if (!isSame) continue;
    found.push(repeat);
    for (const node of repeat) taken.add(node);
  }
  return found;
}

/** The connections of nodes as text: which of them makes each input, which inputs from outside are equal, what is read outside. */
function connectionKey(index: NodeIndex, piece: readonly number[]): string {
  const positions = new Map(piece.map((node, i) => [node, i]));
  const outside = new Map<string, number>();
  return JSON.stringify(
    piece.map((id) => {
      const node = index.nodes[id];
      const inner = (node?.inputs ?? []).map((name) => {
        const position = positions.get(index.maker.get(name) ?? -1);
        if (position !== undefined) return position;
        const number = outside.get(name) ?? -1 - outside.size;
        outside.set(name, number);
        return number;
      });
      const isLeft = (index.readers[id] ?? []).some((reader) => !positions.has(reader)) || (node?.outputs ?? []).some((tensor) => index.outputs.has(tensor.name));
      return [inner, isLeft];
    }),
  );
}
