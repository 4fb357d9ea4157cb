import { expect, test } from "vitest";
import { partition } from "../../../test/runs";
import type { PlanInfo } from "../protocol";
import { crossings } from "./crossings";

const [A, B, C] = [partition("tvm", [0, 1]), partition("ncnn", [2]), partition("ncnn", [3])];
const HOLDERS = new Map([A, B, C].flatMap((one) => one.nodes.map((node): [number, typeof one] => [node, one])));
const move = (from: string, to: string, tensor: string, bytes: number, costS: number): PlanInfo["transitions"][number] => ({ from, to, tensor, bytes, cost_s: costS });
const PLAN: PlanInfo = {
  total_s: 1,
  total_interval_s: null,
  partitions: [A, B, C],
  transitions: [move("host", "tvm", "x", 4, 1e-6), move("tvm", "ncnn", "t", 1_200_000, 12e-6), move("tvm", "ncnn", "u", 300_000, 3e-6), move("ncnn", "ncnn", "v", 8, 0), move("ncnn", "host", "y", 16, 2e-6)],
};
const isTerminal = (box: number): boolean => box >= 10;
const edge = (from: number, to: number, ...tensors: string[]): { from: number; to: number; tensors: string[] } => ({ from, to, tensors });

function lines(...edges: ReturnType<typeof edge>[]): (string[] | undefined)[] {
  const found = crossings(edges, HOLDERS, PLAN, isTerminal);
  return edges.map((one) => found.get(one)?.lines);
}

test("an edge between partitions has its tensors with bytes and cost, one inside a partition has none", () => {
  expect(lines(edge(1, 2, "t", "u"), edge(0, 1, "s"))).toEqual([["t: 1.20 MB from tvm to ncnn, transfer 12.0 µs", "u: 300 kB from tvm to ncnn, transfer 3.00 µs"], undefined]);
  const both = edge(1, 2, "t", "u");
  expect(crossings([both], HOLDERS, PLAN, isTerminal).get(both)?.label).toBe("1.50 MB · 15.0 µs");
});

test("partitions of one target hand tensors over too", () => {
  expect(lines(edge(2, 3, "v"))).toEqual([["v: 8 bytes from ncnn to ncnn, transfer 0 ms"]]);
});

test("a tensor that is copied to the reader's location has each copy of its way with what its time rests on", () => {
  const copy = (from: string, to: string): NonNullable<PlanInfo["copies"]>[number] => ({ from, to, tensor: "t", bytes: 1000, cost_s: 1e-5, basis: "stated" });
  const placed = { ...partition("ncnn", [2]), location: "cuda:1" };
  const plan: PlanInfo = { ...PLAN, partitions: [A, placed], transitions: [], copies: [copy("host", "cuda:0"), copy("cuda:0", "cuda:1")] };
  const one = edge(1, 2, "t");
  const found = crossings([one, edge(0, 1, "t")], new Map([[0, A], [1, A], [2, placed]]), plan, isTerminal);
  expect([...found.keys()]).toEqual([one]);
  expect(found.get(one)?.isCopied).toBe(true);
  expect(found.get(one)?.label).toBe("copy 2.00 kB · 20.0 µs");
  expect(found.get(one)?.lines).toEqual(["t: 1.00 kB copied from host to cuda:0, 10.0 µs (stated)", "t: 1.00 kB copied from cuda:0 to cuda:1, 10.0 µs (stated)"]);
});

test("the host makes the inputs of the model and reads its outputs", () => {
  expect(lines(edge(10, 0, "x"), edge(3, 11, "y"))).toEqual([["x: 4 bytes from host to tvm, transfer 1.00 µs"], ["y: 16 bytes from ncnn to host, transfer 2.00 µs"]]);
});

test("boxes of folded groups, and tensors that the plan does not list, have none", () => {
  expect(lines(edge(5, 2, "t"), edge(1, 2, "w"))).toEqual([undefined, undefined]);
});
