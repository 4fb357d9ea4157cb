import { afterEach, expect, test, vi } from "vitest";
import { runSnapshot } from "../../../test/runs";
import { api } from "../../data/api";
import type { InsideTime } from "../../data/protocol";
import { keptRun } from "../run/run";
import { inside, insideOf, profileError, profileRun, whyNoProfile } from "./inside";

const row: InsideTime = { id: "a+b", target: "tvm", nodes: 2, first: "n0", partitions: 2, seconds: 3e-3, predicted_s: 2e-3, interval_s: null, difference_s: 1e-3 };

afterEach(() => {
  vi.restoreAllMocks();
  keptRun.value = null;
});

test("partitions that are timed together share their time, and another run has none", async () => {
  vi.spyOn(api, "profile").mockResolvedValue({ run: "r1", whole_s: 4e-3, rest_s: 1e-3, predicted_s: 2e-3, predicted_between_s: 0, partitions: [row] });
  keptRun.value = runSnapshot({ state: "done", artifact: true });
  await profileRun();
  expect([insideOf.value.get("a"), insideOf.value.get("b")]).toEqual([row, row]);
  keptRun.value = runSnapshot({ id: "r2", state: "done", artifact: true });
  expect(inside.value).toBeNull();
});

test("without an artifact nothing is asked, and a failure is said", async () => {
  const ask = vi.spyOn(api, "profile").mockRejectedValue(new Error("a run is measuring"));
  keptRun.value = runSnapshot({ id: "r3", state: "done" });
  await profileRun();
  expect([whyNoProfile.value, ask.mock.calls.length]).toEqual(["there is no artifact to run: Export builds it", 0]);
  keptRun.value = runSnapshot({ id: "r3", state: "done", artifact: true });
  await profileRun();
  expect([inside.value, profileError.value?.message]).toEqual([null, "a run is measuring"]);
});
