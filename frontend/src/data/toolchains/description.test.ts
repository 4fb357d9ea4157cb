import { expect, test } from "vitest";
import type { PlanPartition } from "../protocol";
import { gainOf, lineCount, lineSpan, TEMPLATE } from "./description";

test("lines are counted and found as a text area has them", () => {
  expect(lineCount("")).toBe(1);
  expect(lineCount("a\n")).toBe(2);
  const text = "one\ntwo\n\nfour";
  expect([1, 2, 3, 4].map((line) => text.slice(...lineSpan(text, line)))).toEqual(["one", "two", "", "four"]);
  expect(text.slice(...lineSpan(text, 99))).toBe("four");
  expect(text.slice(...lineSpan(text, 0))).toBe("one");
  expect(TEMPLATE).toContain("[cost]");
});

test("the share of a toolchain is told, its dearest partitions first", () => {
  const part = (id: string, target: string, nodes: number[], cost: number): PlanPartition => ({
    id, target, nodes, names: [], ops: [], cost_s: cost, spread_s: null, interval_s: null, samples: 0, source: "estimate", stability: null, decided_by: "cost", tuned: null, label: "",
  });
  const before = { total_s: 0.01, partitions: [part("a", "tvm", [0, 1, 2], 0.01)], transitions: [], total_interval_s: null };
  const after = { total_s: 0.004, partitions: [part("b", "hook", [0], 0.001), part("c", "tvm", [1], 0.001), part("d", "hook", [2], 0.002)], transitions: [], total_interval_s: null };
  const gain = gainOf("hook", after);
  expect(gain).toMatchObject({ takes: "2 partitions, 2 of 3 nodes" });
  expect(gain.partitions.map((one) => one.id)).toEqual(["d", "b"]);
  expect(gainOf("hook", before)).toMatchObject({ takes: "0 partitions, 0 of 3 nodes", partitions: [] });
});
