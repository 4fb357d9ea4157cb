import { expect, test } from "vitest";
import type { Cost, TypedCost } from "../protocol";
import { parseCost, typedBeforeText } from "./typed_cost";

test.each([
  ["1.2ms", 1.2e-3],
  [" 800 us ", 8e-4],
  ["800 \u00b5s", 8e-4],
  ["0.5s", 0.5],
  ["3e2ns", 3e-7],
  ["0 ms", 0],
])("the time %j is %s s", (text, seconds) => {
  const read = parseCost(text);
  expect("seconds" in read && read.seconds).toBeCloseTo(seconds, 12);
});

test.each([
  ["", '"" is no time'],
  ["fast", '"fast" is no time'],
  ["1.2", '"1.2" has no unit'],
  ["1.2 min", "is no time"],
  ["-1 ms", "must be from 0 to"],
  ["1e99 s", "must be from 0 to"],
  ["Infinity ms", "is no time"],
])("the time %j is refused", (text, words) => expect(parseCost(text)).toEqual({ mistake: expect.stringContaining(words) as string }));

test("what was known before is said, and what else costs as much", () => {
  const before = { seconds: 3e-3, source: "measured", reason: "" } as Cost;
  const typed: TypedCost = { id: "a", target: "tvm", label: "Conv", nodes: [0], seconds: 1e-3, before, equal: 1 };
  expect(typedBeforeText(typed)).toBe("3.00 ms measured before");
  expect(typedBeforeText({ ...typed, equal: 4 })).toBe("3.00 ms measured before; so do 3 equal ones");
  expect(typedBeforeText({ ...typed, before: { ...before, seconds: null, source: "invalid", reason: "no kernel" } })).toBe("invalid before: no kernel");
});
