import { expect, test } from "vitest";
import { runSnapshot } from "../../../test/runs";
import type { RunSnapshot } from "../protocol";
import { proofText } from "./proof_text";

const plan = { total_s: 1.0409e-3, partitions: [], transitions: [], total_interval_s: 1e-4 };
const text = (changes: Partial<RunSnapshot>): string => proofText(runSnapshot({ plan, ...changes }));

test("a plan is called optimal only where the shown total is the least", () => {
  expect(text({ optimal: true, lower_bound_s: 1.0409e-3 })).toBe("optimal for these costs");
  expect(text({ optimal: true, lower_bound_s: 1e-3 })).toBe("tie broken by priority, within noise (+40.9 µs)");
  expect(text({ optimal: false, lower_bound_s: 1e-3 })).toBe("tie broken by priority, within noise (+40.9 µs)");
  expect(text({ optimal: false, lower_bound_s: 1e-3, plan: { ...plan, total_interval_s: 1e-6 } })).toBe("stopped early: at most 40.9 µs above the best");
  expect(text({ optimal: false, lower_bound_s: 1e-3, decided_by: "whole" })).toBe("chosen by measuring the whole");
  expect(text({ optimal: null })).toBe("");
  expect(text({ optimal: false, lower_bound_s: 0 })).toBe("");
});
