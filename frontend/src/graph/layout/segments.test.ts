import { expect, test } from "vitest";
import { segmentsOf } from "./segments";

const cut = (count: number, ...edges: [number, number][]): [number, number, number[]][] =>
  segmentsOf(count, Int32Array.from(edges.flat())).map(({ first, last, edges: inside }) => [first, last, inside]);

test("a chain is cut at every box", () => {
  expect(cut(3, [0, 1], [1, 2])).toEqual([
    [0, 1, [0]],
    [1, 2, [1]],
  ]);
});

test("a diamond stays whole, and a residual edge over a box keeps it inside", () => {
  expect(cut(5, [0, 1], [0, 2], [1, 3], [2, 3], [3, 4])).toEqual([
    [0, 3, [0, 1, 2, 3]],
    [3, 4, [4]],
  ]);
  expect(cut(3, [0, 1], [1, 2], [0, 2])).toEqual([[0, 2, [0, 1, 2]]]);
});

test("a late source goes into the segment of its reader", () => {
  expect(cut(4, [0, 1], [1, 3], [2, 3])).toEqual([
    [0, 1, [0]],
    [1, 3, [1, 2]],
  ]);
});

test("one box alone is a segment, and loose ones are laid out, too", () => {
  expect(cut(1)).toEqual([[0, 0, []]]);
  expect(cut(2)).toEqual([[0, 1, []]]);
});
