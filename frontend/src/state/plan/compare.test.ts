import { afterEach, expect, test } from "vitest";
import { partition, runSnapshot } from "../../../test/runs";
import { keptRun } from "../run/run";
import { againstRef, compare, givenAgainst, planRef, runName, swapSides } from "./compare";

const baseline = (name: string, totalS: number | null): { name: string; total_s: number | null; measured_s: null; reason: string } => ({ name, total_s: totalS, measured_s: null, reason: "" });

afterEach(() => {
  compare("", null);
  keptRun.value = null;
});

test("without a choice a plan is compared with the best other plan of a single target", () => {
  const baselines = [baseline("tvm", 2e-3), baseline("openvino", 5e-3), baseline("onnxruntime", null), baseline("greedy", 1e-3)];
  keptRun.value = runSnapshot({ state: "done", baselines });
  expect(againstRef.value).toBe("baseline:tvm");
  keptRun.value = runSnapshot({ state: "done", baselines, plan: { total_s: 2e-3, partitions: [partition("tvm", [0, 1, 2]), partition("host", [3])], transitions: [], total_interval_s: null } });
  expect(againstRef.value).toBe("baseline:openvino");
  keptRun.value = runSnapshot({ state: "done", baselines: [baseline("tvm", 2e-3)], plan: { total_s: 2e-3, partitions: [partition("tvm", [0])], transitions: [], total_interval_s: null } });
  expect(againstRef.value).toBe("baseline:tvm");
  keptRun.value = runSnapshot({ state: "done", baselines: [baseline("tvm", null)] });
  expect(againstRef.value).toBe("");
});

test("the chosen plans stay chosen, and the two can be exchanged", () => {
  keptRun.value = runSnapshot({ state: "done" });
  compare("", "r7");
  expect([planRef.value, againstRef.value, givenAgainst.value]).toEqual(["", "r7", "r7"]);
  swapSides();
  expect([planRef.value, againstRef.value]).toEqual(["r7", ""]);
});

test("a run is named by its time and its terms", () => {
  const one = { created: "2026-01-02T03:04:05Z", state: "done", targets: ["tvm"], constraints: 2 } as const;
  expect(runName({ ...one, targets: ["tvm"] })).toMatch(/^run of .*2026.*, 2 constraints$/);
  expect(runName({ ...one, targets: ["tvm"], constraints: 1 })).toMatch(/, 1 constraint$/);
  expect(runName({ ...one, targets: ["tvm"], state: "recorded", constraints: 0 })).toBe("recorded");
});
