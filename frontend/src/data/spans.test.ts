import { expect, test } from "vitest";
import { formatNodes, nodesIn, parseNodes, sizeOf, spansOf } from "./spans";

test.each([
  [[], []],
  [[4], [4, 4]],
  [[0, 1, 2, 3, 7], [0, 3, 7, 7]],
  [[0, 2, 3, 9, 10], [0, 0, 2, 3, 9, 10]],
])("the nodes %j are the spans %j, and back", (nodes, spans) => {
  expect(spansOf(nodes)).toEqual(spans);
  expect(nodesIn(spans)).toEqual(nodes);
  expect(sizeOf(spans)).toBe(nodes.length);
});

test("nodes are written for the address and read again, in order", () => {
  expect(formatNodes([9, 3, 4, 5])).toBe("3-5.9");
  expect(parseNodes("3-5.9")).toEqual([3, 4, 5, 9]);
  expect(parseNodes("7.7-8")).toEqual([7, 8]);
});

test.each(["", "x", "3-", "-3", "5-3", "1e5", "0-999999", "1.2.", "0-99999999999"])("an address that names no nodes, as %j, selects none", (text) => {
  expect(parseNodes(text)).toEqual([]);
});
