import { expect, test } from "vitest";
import { partition, runSnapshot } from "../../../test/runs";
import type { RunSnapshot } from "../protocol";
import { proofText } from "./proof_text";

const plan = { total_s: 1.0409e-3, partitions: [], transitions: [], total_interval_s: 1e-4 };
const text = (changes: Partial<RunSnapshot>): string => proofText(runSnapshot({ plan, ...changes }));

test("a plan is called optimal only where the shown total is the least", () => {
  expect(text({ optimal: true, lower_bound_s: 1.0409e-3 })).toBe("optimal for these costs");
  expect(text({ optimal: true, lower_bound_s: 1e-3 })).toBe("at most 40.9 µs above the best, within noise");
  expect(text({ optimal: false, lower_bound_s: 1e-3, plan: { ...plan, total_interval_s: 1e-6 } })).toBe("stopped early: at most 40.9 µs above the best");
  expect(text({ optimal: false, lower_bound_s: 1e-3, decided_by: "whole" })).toBe("chosen by measuring the whole");
  expect(text({ optimal: false, lower_bound_s: 1e-3, decided_by: "given" })).toBe("given, not searched for");
  expect(text({ optimal: true, lower_bound_s: 1e-3, plan: { ...plan, total_interval_s: null } })).toBe("at most 40.9 µs above the best");
  expect(text({ optimal: null })).toBe("");
  expect(text({ optimal: false, lower_bound_s: 0 })).toBe("");
});

test("priority is said to have decided only where the engine says so; a search may merely have stopped", () => {
  const decided = (decided_by: string, cost_s: number | null = 1e-3): RunSnapshot["plan"] => ({ ...plan, partitions: [{ ...partition("tvm", [0]), decided_by, cost_s }] });
  const of = (shown: RunSnapshot["plan"]): string => text({ optimal: false, lower_bound_s: 1e-3, plan: shown });
  expect(of(decided("priority"))).toBe("tie broken by priority: at most 40.9 µs above the best, within noise");
  expect(of(decided("cost"))).toBe("stopped early: at most 40.9 µs above the best, within noise");
  expect(of(decided("priority", null))).toBe("stopped early: at most 40.9 µs above the best, within noise");
});

test("a plan with a cost that nobody knows is optimal for the known ones alone", () => {
  const blind = { ...plan, partitions: [{ ...partition("tvm", [0]), cost_s: null }] };
  expect(text({ plan: blind, optimal: true, lower_bound_s: plan.total_s })).toBe("optimal for the known costs");
});
