import { expect, test } from "vitest";
import { cost } from "../../../test/candidates";
import type { NodeCandidate, NodeCandidates, EstimateBasisJson } from "../protocol";
import { estimateTexts } from "./estimate_text";

const WORK: EstimateBasisJson = { operations: 200e6, bytes: 1_000_000, launch_s: 2e-6, operations_per_s: 4e12, bytes_per_s: 200e9, has_transfers: false };

function candidate(target: string, seconds: number, regret: number | null, changes: Partial<NodeCandidate> = {}): NodeCandidate {
  return { id: `${target}${seconds}`, target, label: "Conv+Relu", nodes: [3], rule: "", cost: cost({ seconds }), estimate_basis: null, times: 1, chosen: false, regret_s: regret, regret_at_least_s: regret, rests_on_unknown: false, regret_basis: "predicted", over_budget: "", ...changes };
}

const hook = (regret: number | null, changes: Partial<NodeCandidate> = {}): NodeCandidate => candidate("hook", 52e-6, regret, { estimate_basis: WORK, ...changes });

function said(...candidates: NodeCandidate[]): string[] {
  const data: NodeCandidates = { node: 3, candidates, rejections: [] };
  return estimateTexts(data, ["hook"])[0]?.lines ?? [];
}

const ESTIMATE = "Conv+Relu would take 52.0 µs: an estimate, nothing was measured. It is 2.00 µs for the call, and the longer of 200 MFLOP at 4 TFLOP/s (50.0 µs) and 1.00 MB at 200 GB/s (5.00 µs); transfers free.";

test("one that loses says by how much, and from what speed it would win", () => {
  expect(said(hook(30e-6))).toEqual([
    ESTIMATE,
    "It loses by 30.0 µs: the best plan with it takes that much longer.",
    "It would win from 10 TFLOP/s, with the rest of hook and of the plan unchanged.",
  ]);
  expect(said(hook(48e-6))[2]).toBe("It would win from 100 TFLOP/s and 500 GB/s, with the rest of hook and of the plan unchanged.");
  expect(said(hook(51e-6))[2]).toBe("No speed is enough: it would win below 1.00 µs, and its call alone takes 2.00 µs.");
  expect(said(hook(60e-6))[2]).toBe("It would not win here even if it took no time.");
});

test("of one that loses by a bound alone, no more is said than the bound proves", () => {
  const bounded = (least: number): string[] => said(hook(null, { regret_at_least_s: least })).slice(1);
  expect(bounded(30e-6)).toEqual(["It loses by at least 30.0 µs; the exact difference is not known: finding out takes too long.", "It would win from 10 TFLOP/s at the earliest, with the rest of hook and of the plan unchanged."]);
  expect(bounded(0)).toEqual(["The time that it loses is not known: finding out takes too long."]);
  const unknown = said(hook(null, { regret_at_least_s: 0, rests_on_unknown: true }));
  expect(unknown[1]).toBe("The time that it loses is not known: the answer rests on a cost, or on the time of a whole plan, that is not known.");
  expect(said(hook(null)).slice(1)).toEqual(["No plan can hold it."]);
  expect(said(hook(0)).slice(1)).toEqual(["A plan with it takes as long as the best one."]);
});

test("one that is chosen says by how much it wins, and down to what speed", () => {
  const chosen = hook(0, { chosen: true });
  expect(said(candidate("tvm", 1e-4, 50e-6), candidate("onnx", 1e-4, 70e-6), chosen).slice(1)).toEqual([
    "It wins by 50.0 µs: the best plan with another target here takes that much longer.",
    "It would win down to 2 TFLOP/s, with the rest of hook and of the plan unchanged.",
  ]);
  const bounded = candidate("tvm", 1e-4, null, { regret_at_least_s: 50e-6 });
  expect(said(bounded, candidate("onnx", 1e-4, 70e-6), chosen)[2]).toBe("It would win down to 2 TFLOP/s, or less, with the rest of hook and of the plan unchanged.");
  expect(said(candidate("tvm", 1e-4, null, { regret_at_least_s: 0 }), chosen)[1]).toBe("The margin is not known: finding out takes too long.");
  expect(said(chosen, hook(9e-6, { id: "other" }))[1]).toBe("No other target can take this node, so there is no margin.");
});

test("a property that its description leaves out bounds nothing", () => {
  const bytesOnly = { ...WORK, operations_per_s: null };
  expect(said(hook(3e-6, { estimate_basis: bytesOnly, cost: cost({ seconds: 7e-6 }) }))).toEqual([
    "Conv+Relu would take 7.00 µs: an estimate, nothing was measured. It is 2.00 µs for the call, and 1.00 MB at 200 GB/s (5.00 µs); transfers free.",
    "It loses by 3.00 µs: the best plan with it takes that much longer.",
    "It would win from 500 GB/s, with the rest of hook and of the plan unchanged.",
  ]);
});

test("one without a candidate says so, unless its rejections do", () => {
  const data: NodeCandidates = { node: 3, candidates: [candidate("tvm", 1e-4, 0)], rejections: [] };
  expect(estimateTexts(data, ["hook"])[0]?.lines).toEqual(["It has no candidate here: none of its rules takes this node."]);
  expect(estimateTexts({ ...data, rejections: [{ target: "hook", nodes: [3], stage: "predicate", reason: "no" }] }, ["hook"])[0]?.lines).toEqual([]);
  expect(estimateTexts(data, [])).toEqual([]);
});
