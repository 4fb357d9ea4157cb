import { expect, test } from "vitest";
import { runSnapshot } from "../../../test/runs";
import type { RunSnapshot, TargetCounts } from "../protocol";
import { activityText, keptText, recordedText, remainingS, remainingText, trialTimeText, phaseStates, whyText } from "./progress_text";

function counts(name: string, changes: Partial<TargetCounts> = {}): TargetCounts {
  return { name, found: 0, unique: 0, rejected: 0, measured: 0, invalid: 0, cache_hits: 0, built: 0, spared: 0, trials: 0, trials_s: 0, ...changes };
}

test("the present activity in words", () => {
  expect(activityText(runSnapshot({ state: "queued" }))).toBe("Waiting for another run to end: one measures at a time");
  expect(activityText(runSnapshot())).toBe("Starting");
  expect(activityText(runSnapshot({ phase: "load" }))).toBe("Reading the model");
  expect(activityText(runSnapshot({ phase: "costs", done: 3, total: 40 }))).toBe("Building and measuring candidates, 3 of 40 known");
  const doing = { target: "tvm", label: "Conv+Relu", spans: [0, 1], since_s: 2, repetition: 1 };
  expect(activityText(runSnapshot({ phase: "costs", done: 12, total: 40, doing }))).toBe("Building and timing Conv + Relu for tvm, 12 of 40 known");
  expect(activityText(runSnapshot({ phase: "merge", doing: { ...doing, repetition: 3 } }))).toBe("Re-timing Conv + Relu for tvm, round 3");
  expect(activityText(runSnapshot({ phase: "merge", step: "repeat" }))).toBe("Fusing adjacent partitions (re-timing)");
  expect(activityText(runSnapshot({ phase: "search", step: "search" }))).not.toContain("(");
  const whole = { ...doing, label: "Conv+Relu+MaxPool+Conv+…(65 ops)", spans: [0, 64] };
  expect(activityText(runSnapshot({ phase: "costs", doing: whole }))).toBe("Building and timing Conv + Relu + MaxPool and 62 more for tvm");
  const search = { states: 12400, frontier: 9, covered: 310, nodes: 500, placed: [], placed_s: 0, least_s: null };
  expect(activityText(runSnapshot({ phase: "search", search }))).toBe("Searching: 12,400 states expanded, 310 of 500 nodes covered by the newest");
});

test("a state of the search says what it covers, what that costs, and why the search goes on from it", () => {
  const search = { states: 120, frontier: 9, covered: 5, nodes: 8, placed: [{ target: "tvm", spans: [0, 2, 4, 4] }, { target: "ncnn", spans: [3, 3] }], placed_s: 4e-3, least_s: 6e-3 };
  expect(whyText(runSnapshot({ search }))).toBe(
    "The newest state: 4 nodes by tvm, 1 node by ncnn; 4.00 ms together. No plan is below 6.00 ms. Of 9 open states this one promises the least, so the search goes on from it.",
  );
  expect(whyText(runSnapshot({ search: { ...search, covered: 8, least_s: null } }))).toBe("The newest state: 4 nodes by tvm, 1 node by ncnn; 4.00 ms together, unknown costs at their bounds.");
  expect(whyText(runSnapshot({ search: { ...search, placed: [], frontier: 1, least_s: 0 } }))).toBe("The newest state covers nothing.");
});

test("a trial says why it is made", () => {
  const doing = { target: "tvm", label: "Conv", spans: [0, 0], since_s: 2, repetition: 1 };
  const considered = { total_s: 5e-3, partitions: [{ target: "tvm", spans: [0, 0], is_known: false }, { target: "ncnn", spans: [1, 1], is_known: true }] };
  expect(whyText(runSnapshot({ doing, step: "largest first" }))).toContain("what that toolchain takes alone");
  expect(whyText(runSnapshot({ doing, step: "settle", considered }))).toBe(
    "The best plan by the costs and bounds so far takes 5.00 ms; 1 of its 2 partitions was never timed, and what it rests on is timed next.",
  );
  expect(whyText(runSnapshot({ doing: { ...doing, repetition: 2 }, considered }))).toContain("not sure enough");
  expect(whyText(runSnapshot({ considered: { ...considered, partitions: considered.partitions.slice(1) } }))).toBe("");
});

test("the reason why measuring takes its time", () => {
  const known = [counts("onnxruntime", { trials: 10, trials_s: 2.1 }), counts("tvm", { trials: 2, trials_s: 3.8 }), counts("openvino", { cache_hits: 7 })];
  expect(trialTimeText(runSnapshot({ counts: known }))).toBe("a trial takes 1.9 s with tvm, 0.2 s with onnxruntime");
  expect(trialTimeText(runSnapshot())).toBe("");
});

test("the time remaining follows the run's clock, and is never negative", () => {
  expect(remainingS(runSnapshot({ ends_s: 42 }), 2)).toBe(40);
  expect(remainingS(runSnapshot({ ends_s: 42 }), 50)).toBe(0);
  expect(remainingS(runSnapshot(), 2)).toBeNull();
  expect(remainingS(runSnapshot({ ends_s: 42, state: "failed" }), 2)).toBeNull();
});

test("the time remaining is told while something is measured, and while whole plans are", () => {
  expect(remainingText(runSnapshot({ phase: "merge", ends_s: 42 }), 2)).toBe("about 40 s left");
  const comparing = { doing: "time", name: "", done: 2, total: 5 } as const;
  expect(remainingText(runSnapshot({ phase: "baselines", comparing, ends_s: 42 }), 2)).toBe("about 40 s left");
  expect(remainingText(runSnapshot({ ends_s: 42 }), 41.5)).toBe("");
  expect(activityText(runSnapshot({ phase: "baselines", comparing }))).toBe("Timing whole plans in turns, round 3 of about 5");
  expect(activityText(runSnapshot({ phase: "baselines", comparing: { ...comparing, doing: "build", name: "greedy" } }))).toBe("Building other plans to time beside it: greedy, 3 of 5");
});

test("the body that is searched is told, and how far it is", () => {
  const body = { doing: "search", name: "then_branch of pick", number: 1, count: 3, done: 0, total: 0 } as const;
  const told = (changes: object) => activityText(runSnapshot({ phase: "costs", body: { ...body, ...changes } }));
  expect(told({})).toBe("Searching then_branch of pick, body 1 of 3");
  expect(told({ done: 2, total: 9 })).toBe("Searching then_branch of pick, body 1 of 3: 2 of 9 costs known");
  expect(told({ doing: "measure", name: "pick" })).toBe("Measuring pick on the host, with its bodies as planned");
});

test("phases are done, running or stopped", () => {
  const phases = [
    { phase: "load", started_s: 1, seconds: 0.5 },
    { phase: "costs", started_s: 2, seconds: null },
  ];
  const going = phaseStates(runSnapshot({ phases, phase: "costs" }), 12);
  expect(going).toHaveLength(9);
  expect(going[0]).toEqual({ phase: "load", status: "done", seconds: 0.5 });
  expect(going[1]?.status).toBe("todo");
  expect(going[3]).toEqual({ phase: "costs", status: "now", seconds: 10 });
  expect(phaseStates(runSnapshot({ phases, state: "cancelled" }), 12)[3]).toEqual({ phase: "costs", status: "stopped", seconds: null });
});

test("the results that a stopped run keeps", () => {
  expect(keptText(runSnapshot({ counts: [counts("tvm", { trials: 20 }), counts("openvino", { trials: 4 })] }))).toContain("24 measured costs are kept");
  expect(keptText(runSnapshot({ counts: [counts("tvm", { trials: 1 })] }))).toContain("1 measured cost is kept");
  expect(keptText(runSnapshot({ counts: [counts("tvm", { cache_hits: 1 })] }))).toContain("had been measured before");
  expect(keptText(runSnapshot())).toBe("Nothing had been measured yet");
});

test("a recorded plan names the machine that measured, where one did", () => {
  const text = (state: RunSnapshot["state"], machine: string): string => recordedText(runSnapshot({ state, machine, created: "2026-05-04T10:00:00Z" }));
  expect(text("recorded", "EPYC, 2 cores")).toBe("recorded on EPYC, 2 cores, 2026-05-04");
  expect(text("done", "EPYC, 2 cores")).toBe("re-planned over costs recorded on EPYC, 2 cores");
  expect(text("recorded", "")).toBe("recorded, 2026-05-04");
  expect(text("done", "")).toBe("re-planned over recorded costs");
});
