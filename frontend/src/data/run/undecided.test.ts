import { expect, test } from "vitest";
import { runSnapshot } from "../../../test/runs";
import type { RivalInfo, RunUndecided, UndecidedRival } from "../protocol";
import { needsText, rivalText, tossUpLines, undecidedOf, undecidedText } from "./undecided";

const RIVAL: RivalInfo = { partitions: ["onnxruntime-1-2"], instead: [{ id: "tvm-1", target: "tvm", nodes: [1] }, { id: "openvino-2", target: "openvino", nodes: [2] }], above_s: 1e-5, could_gain_s: 1e-4 };
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

const NEEDS = { seconds: 19.6, repetitions: 4, computations: 2, is_enough: true, is_assumed: false };

test("what would decide a choice is said as the command line says it", () => {
  expect(needsText(NEEDS)).toBe("measure these two for 20 s more");
  expect(needsText({ ...NEEDS, computations: 1, seconds: 0.2 })).toBe("measure this one for 1.0 s more");
  expect(needsText({ ...NEEDS, computations: 5, is_enough: false, is_assumed: true })).toBe(
    "measure these 5 for 20 s more, which may still not decide: both are nearly equally fast (the time of a trial is assumed)",
  );
  const part = { id: "a", target: "tvm", nodes: [0], ops: ["Conv"], cost_s: 1e-3, interval_s: 1e-4 };
  const rival: UndecidedRival = { plan: [part], instead: [{ ...part, target: "openvino" }], above_s: 1e-5, width_s: 1e-4, could_gain_s: 1e-4, needs: NEEDS };
  expect(rivalText(rival)).toBe("tvm or openvino for Conv: the second could be 0.10 ms faster, measure these two for 20 s more");
});

test("toss-ups are named, or the least stable share is", () => {
  const part = { id: "a", target: "tvm", nodes: [0], ops: ["Conv", "Relu"], cost_s: 1e-3, interval_s: 1e-4, stability: 0.96, decided_by: "cost", source: "measured" };
  const found: RunUndecided = { run: "r", total_s: 1e-3, total_interval_s: null, is_measured: true, partitions: [part], toss_ups: [], rivals: [], seconds: 0, unknown_costs: null };
  expect(tossUpLines(found)).toEqual(["every partition stays in the plan in at least 96 % of searches with costs varied within their intervals"]);
  expect(tossUpLines({ ...found, partitions: [{ ...part, stability: 0.6 }], toss_ups: ["a"] })).toEqual(["Conv+Relu on tvm stays in the plan in 60 % of searches with costs varied within their intervals: 1.00 ms ± 0.10 ms"]);
  expect(tossUpLines({ ...found, partitions: [{ ...part, stability: null }] })).toEqual([]);
  const unknown = { unknown: 58, costs: 63, text: "58 of 63 costs are not known" };
  expect(tossUpLines({ ...found, unknown_costs: unknown, partitions: [{ ...part, stability: 1 }, { ...part, id: "b", stability: null }] })).toEqual([
    "58 of 63 costs are not known",
    "every partition but 1, of which it is not known, stays in the plan in all searches with costs varied within their intervals",
  ]);
});
