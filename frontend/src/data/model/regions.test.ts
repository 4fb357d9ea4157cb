import { expect, test } from "vitest";
import { regionText } from "./regions";

test("a region is told by its function, its block and its size", () => {
  expect(regionText({ name: "main.1", function: "main", block: 2, nodes: 12 })).toBe("function main, block 2: 12 nodes");
  expect(regionText({ name: "scaled.0", function: "scaled", block: 0, nodes: 1 })).toBe("function scaled, block 0: 1 node");
});
