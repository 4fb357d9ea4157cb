import { afterEach, expect, test, vi } from "vitest";
import { api } from "../../data/api";
import { estimates, wantEstimates } from "./estimates";

afterEach(() => vi.restoreAllMocks());

test("estimates are asked for once, and again where that failed", async () => {
  const data = (run: string) => ({ run, machine: "", reason: "", seconds: {} });
  const asked = vi.spyOn(api, "estimates").mockImplementation((run) => Promise.resolve(data(run)));
  asked.mockRejectedValueOnce(new Error("gone"));
  await wantEstimates("a");
  expect(estimates.value).toMatchObject({ kind: "failed", run: "a" });
  await Promise.all([wantEstimates("a"), wantEstimates("a")]);
  await wantEstimates("a");
  expect(estimates.value).toEqual({ kind: "ready", data: data("a") });
  expect(asked).toHaveBeenCalledTimes(2);
});

test("of two runs the newer one counts, whichever answer comes first", async () => {
  const answers: Record<string, () => void> = {};
  vi.spyOn(api, "estimates").mockImplementation((run) => new Promise((resolve) => (answers[run] = () => resolve({ run, machine: "", reason: "", seconds: {} }))));
  const both = [wantEstimates("b"), wantEstimates("c")];
  answers["c"]?.();
  answers["b"]?.();
  await Promise.all(both);
  expect(estimates.value).toMatchObject({ kind: "ready", data: { run: "c" } });
});
