import { afterEach, expect, test, vi } from "vitest";
import { runSnapshot } from "../../../test/runs";
import { api } from "../../data/api";
import type { Against } from "../../data/protocol";
import { keptRun } from "../run/run";
import { giveOwnPlan, ownPlan, ownPlanError } from "./own_plan";

const answer: Against = { run: "r1", name: "mine", plan: { total_s: 3e-3, partitions: [], transitions: [], total_interval_s: null }, apparent_loss_s: -1e-3, unknown: [], ignored: [] };

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
