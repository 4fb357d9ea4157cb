import { describe, expect, test } from "vitest";
import { runSnapshot } from "../../../test/runs";
import type { MeasuredPlan, VerifyInfo } from "../protocol";
import { decisionText, totalLines } from "./totals";

const VERIFY: VerifyInfo = { measured_s: 2e-3, additive_error_s: 0, max_rel_error: 0, accuracy: 1e-3, reference: "", errors: {}, interval_s: 1e-5, explained_s: null, apart: false, gap: "" };

function measured(name: string, kind: MeasuredPlan["kind"], totalS: number, measuredS: number | null, changes: Partial<MeasuredPlan> = {}): MeasuredPlan {
  return { name, kind, total_s: totalS, measured_s: measuredS, interval_s: 1e-5, rounds: 5, reason: "", is_plan: false, partitions: 1, ...changes };
}

describe("totalLines", () => {
  test("the plan comes first, then what was measured, the fastest first, and baselines that were not", () => {
    const baselines = [
      { name: "tvm", total_s: 3e-3, measured_s: 2.5e-3, reason: "" },
      { name: "ncnn", total_s: null, measured_s: null, reason: "ncnn cannot take every node" },
    ];
    const alternatives = [measured("tvm", "baseline", 3e-3, 2.5e-3), measured("search", "search", 1.9e-3, 2.1e-3), measured("rival 1", "rival", 2e-3, null, { rounds: 0, reason: "no" })];
    const lines = totalLines(runSnapshot({ baselines, alternatives, verify: VERIFY, decided_by: "whole" }));
    expect(lines.map((line) => [line.name, line.measuredS, line.rounds])).toEqual([
      ["this plan", 2e-3, null],
      ["plan of the least sum", 2.1e-3, 5],
      ["tvm", 2.5e-3, 5],
      ["rival 1", null, null],
      ["ncnn", null, null],
    ]);
    expect(lines[0]?.measuredIntervalS).toBe(1e-5);
  });

  test("a time that was measured apart from the others stands in no line beside them", () => {
    const baselines = [{ name: "tvm", total_s: 3e-3, measured_s: 2.5e-3, reason: "" }];
    const lines = totalLines(runSnapshot({ baselines, verify: { ...VERIFY, apart: true } }));
    expect(lines.map((line) => line.measuredS)).toEqual([null, 2.5e-3]);
  });
});

describe("decisionText", () => {
  test("says which decided, sum or whole", () => {
    const searched = measured("search", "search", 1e-3, 2.12e-3);
    const run = runSnapshot({ verify: VERIFY, decided_by: "whole", alternatives: [searched] });
    expect(decisionText(run)).toBe("End-to-end timing decided: the sum of this plan is 100.0 % above the least, but timed end to end the plan of the least sum is 6.0 % slower (2.12 ms).");
    const tied = { ...searched, measured_s: 1.99e-3 };
    expect(decisionText({ ...run, alternatives: [tied] })).toMatch(/timed end to end the two are not apart: that of the least sum is 0\.5 % faster \(1\.99 ms\), and this one is of targets that come first\.$/);
    expect(decisionText({ ...run, alternatives: [{ ...tied, partitions: 9 }] })).toMatch(/and this one has fewer partitions\.$/);
    const wrong = { ...searched, measured_s: null, reason: "it errs by 0.1, 0.001 is allowed" };
    expect(decisionText({ ...run, alternatives: [wrong] })).toMatch(/is out: it errs by 0.1, 0.001 is allowed\.$/);
    const next = [measured("tvm", "baseline", 3e-3, 2.5e-3), measured("greedy", "baseline", 2e-3, 2e-3, { is_plan: true })];
    expect(decisionText({ ...run, decided_by: "sum", alternatives: next })).toBe("The sum of the costs decided: timed end to end, the next plan is 25.0 % slower.");
    const faster = [measured("rival 1", "rival", 2e-3, 1.96e-3)];
    expect(decisionText({ ...run, decided_by: "sum", alternatives: faster })).toMatch(/next plan is 2\.0 % faster, which is not enough to tell the two apart\.$/);
    expect(decisionText({ ...run, alternatives: next })).toBe("End-to-end timing decided for the plan of the least sum: timed end to end, the next plan is 25.0 % slower.");
    expect(decisionText({ ...run, decided_by: "sum", alternatives: next.slice(1) })).toBe("The sum of the costs decided: no other plan was timed end to end.");
  });

  test("says of a plan that was given what the plan of the run took beside it", () => {
    const run = runSnapshot({ verify: VERIFY, decided_by: "given", alternatives: [measured("the plan of the run", "search", 1e-3, 2.12e-3)] });
    expect(decisionText(run)).toBe("The plan was given, and not searched for: timed end to end, the plan of the run is 6.0 % slower (2.12 ms).");
    expect(decisionText({ ...run, alternatives: [] })).toBe("The plan was given, and not searched for.");
  });

  test("says nothing where nothing was timed end to end", () => {
    expect(decisionText(runSnapshot())).toBe("");
    expect(decisionText(runSnapshot({ decided_by: "sum" }))).toBe("");
  });
});
