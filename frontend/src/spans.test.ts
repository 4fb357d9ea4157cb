import { expect, test } from "vitest";
import { nodesIn, sizeOf, spansOf } from "./spans";

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
