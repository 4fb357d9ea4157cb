import { expect, test } from "vitest";
import { runSnapshot } from "../../../test/runs";
import type { Undecided } from "../protocol";
import { undecidedOf, undecidedText } from "./undecided";

const RIVAL: Undecided = { partitions: ["onnxruntime-1-2"], instead: [{ target: "tvm", nodes: [1] }, { target: "openvino", nodes: [2] }], above_s: 1e-5, could_gain_s: 1e-4 };
const BUDGET = { limit_s: 20, spent_s: 20.5, undecided: [RIVAL] };

test("a choice that measuring left open names both sides, the place and the gain", () => {
  const run = runSnapshot({ state: "done", budget: BUDGET });
  expect(undecidedOf(run)).toEqual([RIVAL]);
  expect(undecidedOf({ ...run, state: "recorded" })).toEqual([RIVAL]);
  expect(run.plan && undecidedText(RIVAL, run.plan)).toBe("onnxruntime or tvm + openvino in 2 partitions for 2 nodes from n1: the second could be 0.10 ms faster (5.00 %)");
});

test("a gain of more than the plan takes is no share of it", () => {
  const { plan } = runSnapshot({ state: "done" });
  expect(plan && undecidedText({ ...RIVAL, could_gain_s: 9e-3 }, plan)).toMatch(/could be 9.00 ms faster$/);
});

test("nothing is undecided before a run is over, nor where nothing was measured", () => {
  expect(undecidedOf(runSnapshot({ budget: BUDGET }))).toEqual([]);
  expect(undecidedOf(runSnapshot({ state: "done" }))).toEqual([]);
});
