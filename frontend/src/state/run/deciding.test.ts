import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { partition, planTime, runSnapshot, twoPlans } from "../../../test/runs";
import { api } from "../../data/api";
import type { RunUndecided } from "../../data/protocol";
import { adoptRun } from "../plan/decisions";
import { askUndecided, decidedText, decidingError, measureUndecided, undecided } from "./deciding";
import { keptRun, run, showRun } from "./run";

const base = runSnapshot({ id: "base", state: "done" });
const answer: RunUndecided = { run: "base", total_s: 2e-3, total_interval_s: null, is_measured: true, partitions: [], toss_ups: [], rivals: [], seconds: 0, unknown_costs: null };

beforeEach(() => {
  showRun(base);
  adoptRun(base);
});

afterEach(() => {
  vi.restoreAllMocks();
  keptRun.value = null;
  adoptRun(null);
});

test("what is undecided is that of the shown run", async () => {
  vi.spyOn(api, "undecided").mockResolvedValue(answer);
  await askUndecided();
  expect(undecided.value).toEqual(answer);
  showRun(runSnapshot({ id: "another", state: "done" }));
  expect(undecided.value).toBeNull();
});

test("measuring on shows the plan of its run and says what changed", async () => {
  const plan = { total_s: 1e-3, partitions: [partition("onnxruntime", [0, 1, 2])], transitions: [], total_interval_s: null };
  const time = planTime({ predicted_s: 1e-3 });
  const start = vi.spyOn(api, "startRun").mockResolvedValue(runSnapshot({ id: "on", state: "done", base: "base", plan, time }));
  const compare = vi.spyOn(api, "compare").mockResolvedValue({ ...twoPlans([]), text: "-1 ms predicted" });
  await measureUndecided(20);
  expect(start).toHaveBeenCalledWith({ model: "m1", targets: base.targets, base: "base", decide_s: 20 });
  expect([run.value?.id, decidedText.value]).toEqual(["on", "Measured on, and another plan is best now; its time against the one before: -1 ms predicted."]);
  expect(compare.mock.lastCall?.[1].first).toMatchObject({ time, run: "on", is_plan: true });
});

test("where nothing can be measured the run stays, and the reason is said", async () => {
  const error = { code: "nothing", message: "nothing is undecided in this run", hint: "" };
  vi.spyOn(api, "startRun").mockResolvedValue(runSnapshot({ id: "on", state: "failed", plan: null, error }));
  await measureUndecided(20);
  expect([run.value?.id, decidingError.value]).toEqual(["base", error]);
});
