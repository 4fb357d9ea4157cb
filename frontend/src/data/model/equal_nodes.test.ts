import { expect, test } from "vitest";
import { chain, inception } from "../../../test/graphs";
import { indexNodes, repeatsOf } from "./equal_nodes";

const two = inception(3);
const index = indexNodes(two);
const idsOf = (op: string): number[] => two.nodes.filter((node) => node.op === op).map((node) => node.id);

test("a node repeats where operator, attributes, shapes and weights' shapes are equal", () => {
  const [, pool] = idsOf("MaxPool");
  const repeats = repeatsOf(index, [pool ?? -1]).flat();
  expect(repeats).toHaveLength(2);
  expect(repeats).toContain(pool);
});

test("a set of nodes repeats as a whole, the set itself first, and repeats do not overlap", () => {
  const length = two.nodes.length / 3;
  const piece = two.nodes.slice(length, length + 4).map((node) => node.id);
  const repeats = repeatsOf(index, piece);
  expect(repeats[0]).toEqual(piece);
  expect(repeats.length).toBeGreaterThan(1);
  expect(new Set(repeats.flat()).size).toBe(repeats.flat().length);
  for (const repeat of repeats) expect(repeat.map((node) => two.nodes[node]?.op)).toEqual(piece.map((node) => two.nodes[node]?.op));
});

test("equal nodes that are joined otherwise, or read by other nodes outside, are no repeat", () => {
  const graph = chain();
  const relu = graph.nodes[1];
  if (!relu) throw new Error("the chain has no Relu");
  const again = { ...relu, id: 3, name: "again", inputs: ["t1"], outputs: [{ name: "t3", shape: [1, 8, 32, 32], dtype: "float32" }] };
  const grown = indexNodes({ ...graph, nodes: [...graph.nodes, again] });
  expect(repeatsOf(grown, [1])).toEqual([[1]]);
  expect(repeatsOf(indexNodes({ ...graph, nodes: [...graph.nodes, again], outputs: [...graph.outputs, "t3"] }), [1])).toEqual([[1], [3]]);
  expect(repeatsOf(grown, [0, 1])).toEqual([[0, 1]]);
});

test("an empty set has no repeats", () => {
  expect(repeatsOf(index, [])).toEqual([]);
});
