import { describe, expect, test } from "vitest";
import type { NodeCandidate } from "../protocol";
import { byTarget, regretText, threshold, whyText } from "./why";

function candidate(target: string, seconds: number | null, regret: number | null, changes: Partial<NodeCandidate> = {}): NodeCandidate {
  const cost = { seconds, source: seconds === null ? "invalid" : "measured", spread_s: 1e-6, samples: 20, stage: "", reason: "", stopped_early: false, error: null, interval_s: 1e-6, tuned: null, alone_s: null };
  return { id: `${target}${seconds}`, target, label: "Conv", nodes: [3], rule: "", cost, estimate_basis: null, times: 1, chosen: false, regret_s: regret, regret_at_least_s: regret, rests_on_unknown: false, regret_basis: "predicted", over_budget: "", ...changes };
}

describe("why", () => {
  const chosen = candidate("ncnn", 5e-4, 0, { chosen: true });
  const rival = candidate("tvm", 131e-6, 47e-6);
  const invalid = candidate("tvm", null, null);
  const reason = { target: "tensorrt", nodes: [3], stage: "device", reason: "no GPU here" };
  const data = { node: 3, candidates: [invalid, rival, chosen], rejections: [reason, { ...reason, nodes: [4] }] };
  test("groups by target: the chosen one first, the costless last, equal reasons once", () => {
    const groups = byTarget(data);
    expect(groups.map((group) => group.target)).toEqual(["ncnn", "tvm", "tensorrt"]);
    expect(groups[1]?.candidates).toEqual([rival, invalid]);
    expect(groups[2]?.rejections).toEqual([{ ...reason, count: 2 }]);
  });
  test("for a partition only candidates that hold all of it", () => {
    expect(byTarget({ ...data, rejections: [] }, [3, 4])).toEqual([]);
  });
  test("says below which cost another target would win", () => {
    expect(threshold(rival)).toBeCloseTo(84e-6);
    expect(whyText(data)).toEqual(["ncnn runs it in 0.50 ms ±<1 % (20 samples, measured)", "tvm would win here below 84.0 µs; it takes 0.13 ms"]);
  });
  test("the time of a partition of several nodes is not said of one of them", () => {
    const large = { ...chosen, nodes: [3, 4, 5], cost: { ...chosen.cost, seconds: 0.114 } };
    expect(whyText({ ...data, candidates: [large] })).toEqual(["ncnn runs the partition of 3 nodes that holds it in 114 ms ±<1 % (20 samples, measured)"]);
  });
  test("says what tuning brought", () => {
    const tuned = { digest: "d1ce", untuned_s: 75e-5, spent_s: 42, trials: 64 };
    expect(whyText({ ...data, candidates: [{ ...chosen, cost: { ...chosen.cost, tuned } }] })[1]).toBe(
      "it was tuned for 42 s, 64 schedules: 1.50 times as fast as with the default schedule, 0.75 ms",
    );
  });
  test("an estimate is called one, and is never too close to call", () => {
    const estimate = { ...rival, cost: { ...rival.cost, source: "estimate", samples: 0 } };
    expect(whyText({ ...data, candidates: [estimate, chosen] })[1]).toBe("tvm would win here below 84.0 µs; it was not measured, an estimate says 0.13 ms");
    expect(whyText({ ...data, candidates: [{ ...estimate, regret_s: 1e-6, regret_at_least_s: 1e-6 }, chosen] })[1]).toContain("an estimate says");
    expect(whyText({ ...data, candidates: [{ ...estimate, chosen: true, regret_s: 0 }] })[0]).toContain("(an estimate)");
  });
  test("claims no more than the bounds prove of a candidate whose regret is known in bounds alone", () => {
    const bounded = (least: number): NodeCandidate => ({ ...rival, regret_s: null, regret_at_least_s: least });
    const of = (least: number): string | undefined => whyText({ ...data, candidates: [chosen, bounded(least)] })[1];
    expect(of(0)).toBe("it is not known how far tvm is from winning here: finding out takes too long");
    expect(whyText({ ...data, candidates: [chosen, { ...bounded(0), rests_on_unknown: true }] })[1]).toBe(
      "it is not known how far tvm is from winning here: the answer rests on a cost, or on the time of a whole plan, that is not known",
    );
    expect(of(47e-6)).toBe("tvm would win here below 84.0 µs at most; it takes 0.13 ms");
    expect(of(140e-6)).toBe("tvm would not win here even if it took no time");
  });
  test("an exact rival is in the sentence before any bound, and what may be nearer follows it", () => {
    const bounded = (least: number): NodeCandidate => ({ ...candidate("onnx", 131e-6, null), regret_at_least_s: least, nodes: [3, 4] });
    const of = (least: number): string[] => whyText({ ...data, candidates: [bounded(least), chosen, rival] }).slice(1);
    const exact = "tvm would win here below 84.0 µs; it takes 0.13 ms";
    expect(of(0)).toEqual([exact, "it is not known how far onnx with 2 nodes is from winning here: finding out takes too long"]);
    expect(of(31e-6)).toEqual([exact, "onnx with 2 nodes would win here below 0.10 ms at most; it takes 0.13 ms"]);
    expect(of(48e-6)).toEqual([exact]);
  });
  test("lists exact regrets before bounds, however low the bounds are", () => {
    const bounded = { ...candidate("tvm", 2e-4, null), id: "bound", regret_at_least_s: 87e-6 };
    const unknown = { ...candidate("tvm", 2e-4, null), id: "unknown", regret_at_least_s: 0, rests_on_unknown: true };
    const whole = { ...candidate("tvm", 3e-4, 3e-4), id: "exact" };
    const [, group] = byTarget({ ...data, candidates: [unknown, bounded, whole, chosen], rejections: [] });
    expect(group?.candidates.map((one) => one.id)).toEqual(["exact", "bound", "unknown"]);
    expect(group?.candidates.map(regretText)).toEqual(["+0.30 ms", "≥ +87.0 µs", "unknown"]);
    expect(regretText({ ...group!.candidates[0]!, regret_basis: "estimated" })).toBe("≈ +0.30 ms");
  });
  test("says that it is too close to call, or hopeless", () => {
    expect(whyText({ ...data, candidates: [chosen, candidate("tvm", 5e-4, 1e-6)] })[1]).toMatch(/too close to call: the plan with it is predicted \+1\.00 µs, and the two costs are known to ±[\d.]+ µs; re-timing both would tell them apart$/);
    expect(whyText({ ...data, candidates: [chosen, candidate("tvm", 1e-4, 2e-4)] })[1]).toBe("tvm would not win here even if it took no time");
    expect(whyText({ ...data, candidates: [rival] })).toEqual([]);
  });
});
