import { expect, test } from "vitest";
import { runSummary } from "../../../test/runs";
import { filteredRuns, kindOf, optionsOf, orderedRuns, reorderedRuns, type RunColumn, type RunFilter } from "./run_rows";

const VERIFY = { measured_s: 2e-3, additive_error_s: 1e-4, max_rel_error: 1e-6, accuracy: 1e-3, reference: "onnxruntime", errors: {}, interval_s: null, explained_s: null, apart: false, gap: "" };
const ROWS = [
  runSummary("a", { created: "2026-01-03T00:00:00Z", total_s: 3e-3, is_starred: true, name: "Before the holidays" }),
  runSummary("b", { created: "2026-01-02T00:00:00Z", total_s: null, state: "failed", model: "m2", model_name: "bert" }),
  runSummary("c", { created: "2026-01-01T00:00:00Z", total_s: 1e-3, base: "a", constraints: 2, options: { accuracy: 0.01, threads: 2, max_depth: { tvm: 3 } }, note: "pinned the <stem>", verify: VERIFY, measured_s: 2e-3 }),
  runSummary("d", { created: "2025-12-31T00:00:00Z", total_s: 2e-3, state: "recorded", recorded: true, targets: ["tvm"], verify: { ...VERIFY, max_rel_error: 0.1 } }),
];

const kept = (change: Partial<RunFilter>): string =>
  filteredRuns(ROWS, { text: "", isStarredOnly: false, isEveryModel: false, ...change }, "m1")
    .map(({ id }) => id)
    .join("");
const by = (column: RunColumn, isDown = false): string =>
  orderedRuns(ROWS, { by: column, isDown })
    .map(({ id }) => id)
    .join("");

test("runs are filtered by model, by star, and by any of their words", () => {
  expect(kept({})).toBe("acd");
  expect(kept({ isEveryModel: true })).toBe("abcd");
  expect(kept({ isStarredOnly: true })).toBe("a");
  expect(kept({ text: " STEM" })).toBe("c");
  expect(kept({ text: "re-planned" })).toBe("c");
  expect(kept({ text: "threads 2" })).toBe("c");
  expect(kept({ text: "holidays nothing" })).toBe("");
  expect(kept({ text: "bert", isEveryModel: true })).toBe("b");
});

test("every column sorts; rows without a value come last in both directions", () => {
  expect(by("when", true)).toBe("abcd");
  expect(by("total")).toBe("cdab");
  expect(by("total", true)).toBe("adcb");
  expect(by("verified")).toBe("cdab");
  expect(by("measured")[0]).toBe("c");
  expect(by("note")[0]).toBe("c");
  expect(by("star", true)[0]).toBe("a");
  expect(by("name")).toBe("acdb");
  expect(reorderedRuns({ by: "total", isDown: false }, "when")).toEqual({ by: "when", isDown: true });
  expect(reorderedRuns({ by: "when", isDown: true }, "when")).toEqual({ by: "when", isDown: false });
});

test("a row names its run and the options of the run", () => {
  expect(ROWS.map(kindOf)).toEqual(["run", "run", "re-planned", "recorded run"]);
  expect(ROWS.map(optionsOf)).toEqual(["", "", "known costs, 2 constraints, max depth 3 for tvm, threads 2, accuracy 0.01", ""]);
});
