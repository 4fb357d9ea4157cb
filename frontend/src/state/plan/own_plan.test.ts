import { afterEach, expect, test, vi } from "vitest";
import { planTime, runSnapshot } from "../../../test/runs";
import { api } from "../../data/api";
import type { CostedPlan, RunSnapshot, TotalRow } from "../../data/protocol";
import { keptRun } from "../run/run";
import { giveOwnPlan, measureOwnPlan, measuringOwn, type OwnPlan, ownPlan, ownPlanError } from "./own_plan";

const answer: CostedPlan = { run: "r1", name: "mine", plan: { total_s: 3e-3, partitions: [], transitions: [], total_interval_s: null }, time: planTime(), apparent_loss_s: -1e-3, unknown: [], ignored: [] };

afterEach(() => {
  vi.restoreAllMocks();
  keptRun.value = null;
});

test("a plan is costed on the shown run, and found by its reference", async () => {
  keptRun.value = runSnapshot({ state: "done" });
  const ask = vi.spyOn(api, "against").mockResolvedValue(answer);
  const ref = await giveOwnPlan("*=CPU", "mine", "CPU=tvm");
  expect(ask).toHaveBeenCalledWith("r1", { text: "*=CPU", name: "mine", devices: { CPU: "tvm" } });
  expect(ownPlan(ref ?? "")?.answer).toEqual(answer);
  expect(ownPlan("own:0")).toBeUndefined();
});

test("a mistake is said before the server is asked, and that of the server after", async () => {
  keptRun.value = runSnapshot({ state: "done" });
  const ask = vi.spyOn(api, "against").mockRejectedValue(new Error("holds no plan"));
  expect(await giveOwnPlan("*=tvm", "mine", "CPU")).toBeNull();
  expect(ownPlanError.value?.message).toBe('"CPU" must be DEVICE=TARGET');
  expect(await giveOwnPlan(" ", "mine", "")).toBeNull();
  expect([ownPlanError.value?.message, ask.mock.calls.length]).toEqual(["no plan was given", 0]);
  expect(await giveOwnPlan("nothing", "mine", "")).toBeNull();
  expect(ownPlanError.value?.message).toBe("holds no plan");
});

/** Give a plan, and let the run that measures it end as `result`. */
async function measured(result: Partial<RunSnapshot>): Promise<OwnPlan | undefined> {
  keptRun.value = runSnapshot({ state: "done", plan: { ...answer.plan, total_s: 2e-3 } });
  vi.spyOn(api, "against").mockResolvedValue({ ...answer, unknown: [{ id: "c", target: "tvm", nodes: [0], names: ["a"], reason: "never timed" }] });
  const given = ownPlan((await giveOwnPlan("*=tvm", "mine", "")) ?? "");
  if (!given) throw new Error("no plan was kept");
  const run = runSnapshot({ id: "r2", state: "done", ...result });
  const start = vi.spyOn(api, "startRun").mockResolvedValue(run);
  vi.spyOn(api, "run").mockResolvedValue(run);
  vi.spyOn(api, "runs").mockResolvedValue({ runs: [] });
  await measureOwnPlan(given);
  expect(start.mock.lastCall?.[0]).toMatchObject({ base: "r1", own_plan: { text: "*=tvm", name: "mine", devices: {} } });
  expect(measuringOwn.value).toBeNull();
  return ownPlan(given.ref);
}

test("a plan that was timed end to end has both times, and how the other compares", async () => {
  const beside: TotalRow = { name: "the plan of the run", kind: "search", time: planTime({ measured_s: 4e-3 }), rounds: 5, reason: "", against: "-1 ms measured" };
  const own: TotalRow = { ...beside, name: "this plan", kind: "plan", time: planTime({ measured_s: 5e-3 }), against: "" };
  vi.spyOn(api, "totals").mockResolvedValue({ run: "r2", decision: "", rows: [own, beside] });
  const given = await measured({ plan: { ...answer.plan, total_s: 3.5e-3 }, time: own.time });
  expect(given?.measured).toEqual({ run: "r2", own: own.time, beside });
  expect(given?.answer.plan.total_s).toBe(3.5e-3);
});

test("what keeps it from being measured is said, and a stop is none", async () => {
  const error = { code: "own_plan", message: "mine cannot be timed end to end: it errs by 0.3", hint: "" };
  expect((await measured({ state: "failed", error }))?.measured).toBeNull();
  expect(ownPlanError.value).toEqual(error);
  ownPlanError.value = null;
  expect((await measured({ state: "cancelled" }))?.measured).toBeNull();
  expect(ownPlanError.value).toBeNull();
});
