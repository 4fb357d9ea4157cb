import { expect, test } from "vitest";
import { chain, inception, transformer } from "../../../test/graphs";
import { builtOf } from "../../../test/layouts";

test("a node is a box with its operator, its weights by formal name, and the attributes that are not the default", () => {
  const [conv, relu, pool] = builtOf(chain()).boxes;
  expect(conv).toMatchObject({ title: "Conv", name: "Conv_0", category: "layer" });
  expect(conv?.rows).toEqual([
    { name: "W", text: "⟨8×3×3×3⟩" },
    { name: "B", text: "⟨8⟩" },
  ]);
  expect(relu?.rows).toEqual([]);
  expect(pool?.rows).toEqual([{ name: "strides", text: "2, 2" }]);
});

test("a constant of few values is written out", () => {
  const json = chain();
  json.constants["b0"] = { shape: [], dtype: "float32", value: [0.5] };
  expect(builtOf(json).boxes[0]?.rows[1]).toEqual({ name: "B", text: "= 0.5" });
});

test("inputs and outputs are boxes of their own, with edges that carry shapes", () => {
  const { boxes, edges } = builtOf(chain());
  expect(boxes.slice(3).map(({ kind, title }) => [kind, title])).toEqual([
    ["input", "data"],
    ["output", "t2"],
  ]);
  expect(edges.map(({ from, to, label }) => [from, to, label])).toEqual([
    [3, 0, "1×3×32×32"],
    [0, 1, "1×8×32×32"],
    [1, 2, "1×8×32×32"],
    [2, 4, "1×8×16×16"],
  ]);
});

test("an operator of another domain is shown by its own name", () => {
  const json = chain();
  Object.assign(json.nodes[0] ?? {}, { op: "com.microsoft.FusedConv" });
  expect(builtOf(json).boxes[0]).toMatchObject({ title: "FusedConv", category: "layer" });
});

test("two tensors between the same nodes are one edge", () => {
  const json = chain();
  json.nodes[0]?.outputs.push({ name: "second", shape: [1], dtype: "float32" });
  json.nodes[1]?.inputs.push("second");
  const edge = builtOf(json).edges.find((one) => one.from === 0 && one.to === 1);
  expect(edge).toMatchObject({ tensors: ["t0", "second"], label: "2 tensors" });
});

test("the order is topological, and a source stands just before its first reader", () => {
  const json = transformer(3);
  const { order, edges, boxes } = builtOf(json);
  const index = new Map(order.map((id, i) => [id, i]));
  expect(order.length).toBe(boxes.length);
  for (const { from, to } of edges) expect(index.get(from)).toBeLessThan(index.get(to) ?? 0);
  const embeddings = boxes.find((box) => box.name === "embeddings")?.id ?? -1;
  expect(order[(index.get(embeddings) ?? 0) + 1]).toBe(2);
});

test("a mask that every layer reads is cut but for its nearest reader; short branches are not", () => {
  const stubs = builtOf(transformer(4)).edges.filter((edge) => edge.isStub);
  expect(stubs.map((edge) => edge.from)).toEqual([1, 1, 1]);
  expect(builtOf(inception(4)).edges.some((edge) => edge.isStub)).toBe(false);
});
