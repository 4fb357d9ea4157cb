import { describe, expect, test } from "vitest";
import { partition, runSnapshot } from "../../../test/runs";
import { isRecorded, planChange, shares } from "./summary";

describe("a change of the plan", () => {
  const before = { total_s: 3e-3, partitions: [partition("tvm", [0, 1]), partition("openvino", [2])], transitions: [], total_interval_s: null };
  test("counts the partitions that were not there before", () => {
    const after = { ...before, total_s: 3.4e-3, partitions: [partition("tvm", [0]), partition("tvm", [1]), partition("openvino", [2])] };
    expect(planChange(before, after, "+0.4 ms predicted")).toEqual({ changed: new Set(["tvm-0", "tvm-1"]), text: "+0.4 ms predicted" });
    expect(planChange(before, before)).toEqual({ changed: new Set(), text: "" });
  });
  test("shares add up by target, with the transitions at the end", () => {
    const transition = { from: "tvm", to: "host", tensor: "t", bytes: 4, cost_s: 1e-4 };
    expect(shares({ ...before, transitions: [transition] }).map((share) => share.name)).toEqual(["tvm", "openvino", "transition"]);
  });
  test("a run over recorded costs stays labelled", () => {
    expect(isRecorded(runSnapshot({ state: "recorded" }))).toBe(true);
    expect(isRecorded(runSnapshot({ state: "done", plan: { ...before, partitions: [{ ...partition("tvm", [0]), source: "recorded" }] } }))).toBe(true);
    expect(isRecorded(runSnapshot({ state: "done", base: "recorded-mnist", recorded: true }))).toBe(true);
    expect(isRecorded(runSnapshot({ state: "done" }))).toBe(false);
  });
});
