import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { partition, runSnapshot } from "../../../test/runs";
import { api } from "../../data/api";
import { cutBetween, pinNodes, vetoNodes } from "../../data/plan/constraints";
import type { MeasuredPlan, RunRequest, RunSnapshot, WhatIf, WhatIfRequest } from "../../data/protocol";
import { undecidedOf } from "../../data/run/undecided";
import { switchedOff } from "../model/catalogue";
import { accuracyText, isOtherPlan, keptRun, run, showRun, whatIf } from "../run/run";
import {
  adoptRun,
  canRedo,
  canUndo,
  constraints,
  decide,
  decideWithout,
  discard,
  isWaiting,
  keep,
  keepRun,
  lastChange,
  refusal,
  runBefore,
  setAccuracy,
  setCost,
  stepHistory,
  switchTarget,
  termCount,
  terms,
  withdraw,
} from "./decisions";

const PIN = pinNodes(["n0"], "tvm");
const VETO = vetoNodes(["n1"], "tvm");
const counts = ["tvm", "onnxruntime"].map((name) => ({ name })) as unknown as RunSnapshot["counts"];
const opened = runSnapshot({ id: "opened", state: "recorded", counts });

/** A plan whose total says how many terms it holds. */
function planOf({ constraints: held = [], targets, accuracy }: Pick<WhatIfRequest, "constraints" | "targets" | "accuracy">): NonNullable<RunSnapshot["plan"]> {
  const terms = held.length + (2 - targets.length) + ((accuracy ?? null) === null ? 0 : 1);
  return { total_s: 2e-3 + terms * 1e-3, partitions: [partition("tvm", [terms])], transitions: [], total_interval_s: null };
}

const askWhatIf = vi.fn((_run: string, body: WhatIfRequest): Promise<WhatIf> => Promise.resolve({ run: "opened", plan: planOf(body), optimal: true, untimed: 0, keeps_plan: false, time: null, change: null, change_text: "said", predicted_text: "", error: null, conflict: [], off: [], uncovered: [] }));
let started = 0;
const startRun = vi.fn((body: RunRequest): Promise<RunSnapshot> =>
  Promise.resolve(runSnapshot({ id: `kept${++started}`, state: "done", base: body.base ?? null, counts, targets: body.targets, constraints: body.constraints ?? [], groups: body.groups ?? [], plan: planOf(body) })),
);

const totalMs = (): number => Math.round((run.value?.plan?.total_s ?? 0) * 1e3);

beforeEach(() => {
  vi.spyOn(api, "whatIf").mockImplementation(askWhatIf);
  vi.spyOn(api, "startRun").mockImplementation(startRun);
  showRun(opened);
  adoptRun(opened);
});

afterEach(() => {
  vi.restoreAllMocks();
  askWhatIf.mockClear();
  startRun.mockClear();
  keptRun.value = null;
  adoptRun(null);
});

test("a decision is a what-if at first, and kept only when the user says so", async () => {
  await decide(PIN);
  expect([totalMs(), run.value?.id, whatIf.value?.optimal]).toEqual([3, "opened", true]);
  expect(lastChange.value?.text).toBe("said");
  expect(startRun).not.toHaveBeenCalled();
  await keep();
  expect(startRun).toHaveBeenCalledWith(expect.objectContaining({ base: "opened", constraints: [PIN], targets: ["tvm", "onnxruntime"] }));
  expect([totalMs(), run.value?.id, whatIf.value]).toEqual([3, `kept${started}`, null]);
  expect(runBefore.value?.id).toBe("opened");
});

test("what a run says of its own plan is not said of the plan that is tried", async () => {
  const undecided = [{ partitions: ["tvm:n0"], instead: [{ id: "onnxruntime:n0", target: "onnxruntime", nodes: [0] }], above_s: 0, could_gain_s: 1e-4 }];
  const row: MeasuredPlan = { name: "tvm", kind: "baseline", total_s: 2e-3, measured_s: 2e-3, interval_s: null, rounds: 5, reason: "", is_plan: true, partitions: 1 };
  const verify = { measured_s: 2e-3, additive_error_s: null, max_rel_error: 0, accuracy: 1e-3, reference: "", errors: {}, interval_s: null, explained_s: null, apart: false, gap: "thrice the time" };
  showRun({ ...opened, budget: { limit_s: 20, spent_s: 20, undecided }, alternatives: [row], decided_by: "whole", verify, artifact: true });
  expect(run.value && undecidedOf(run.value)).toEqual(undecided);
  await decide(PIN);
  expect(run.value && undecidedOf(run.value)).toEqual([]);
  expect(run.value).toMatchObject({ verify: null, alternatives: [], decided_by: null, artifact: false });
  discard();
  expect(run.value && undecidedOf(run.value)).toEqual(undecided);
});

test("terms that the plan holds already leave all that is known of it as it was, and are terms all the same", async () => {
  const verify = { measured_s: 1.9e-3, additive_error_s: null, max_rel_error: 0, accuracy: 1e-3, reference: "", errors: {}, interval_s: null, explained_s: null, apart: false, gap: "" };
  showRun({ ...opened, plan: planOf({ targets: ["tvm", "onnxruntime"] }), verify, decided_by: "whole", artifact: true });
  const before = run.value;
  askWhatIf.mockResolvedValueOnce({ run: "opened", plan: before?.plan ?? null, optimal: false, untimed: 0, keeps_plan: true, time: null, change: null, change_text: "said", predicted_text: "", error: null, conflict: [], off: [], uncovered: [] });
  await decide(PIN);
  expect(run.value).toBe(before);
  expect([isOtherPlan.value, lastChange.value, constraints.value]).toEqual([false, null, [PIN]]);
  await decide(VETO);
  expect([isOtherPlan.value, run.value?.verify, totalMs()]).toEqual([true, null, 4]);
  stepHistory(-1);
  expect(run.value).toBe(before);
  await keep();
  expect(startRun).toHaveBeenCalledWith(expect.objectContaining({ base: "opened", constraints: [PIN] }));
});

test("a discarded decision is gone from the page, and comes back by redo", async () => {
  await decide(PIN);
  await decide(VETO);
  expect([totalMs(), lastChange.value?.text]).toEqual([4, "said"]);
  discard();
  expect([totalMs(), constraints.value, whatIf.value]).toEqual([2, [], null]);
  stepHistory(1);
  expect([totalMs(), constraints.value]).toEqual([3, [PIN]]);
  stepHistory(1);
  expect([totalMs(), constraints.value, canRedo.value]).toEqual([4, [PIN, VETO], false]);
});

test("undo goes back over tried and kept decisions", async () => {
  await decide(PIN);
  await keep();
  await decide(VETO);
  stepHistory(-1);
  expect([totalMs(), run.value?.id]).toEqual([3, `kept${started}`]);
  stepHistory(-1);
  expect([totalMs(), run.value?.id, canUndo.value]).toEqual([2, "opened", false]);
  stepHistory(-1);
  expect(run.value?.id).toBe("opened");
});

test("taking back the only thing that is tried leads to the kept plan without asking", async () => {
  await decide(PIN);
  await withdraw(0);
  expect([totalMs(), whatIf.value, askWhatIf.mock.calls.length]).toEqual([2, null, 1]);
});

test("terms that were decided together are taken back together, and announced once", async () => {
  await decide(cutBetween("n0", "n1"), cutBetween("n1", "n2"));
  expect([constraints.value.length, termCount.value]).toEqual([2, 1]);
  await decide(cutBetween("n0", "n1"));
  expect(askWhatIf).toHaveBeenCalledTimes(1);
  await withdraw(0);
  expect(constraints.value).toEqual([]);
});

test("a target is switched off and an accuracy set in the same way, and undone in the bar too", async () => {
  await switchTarget("tvm");
  expect(askWhatIf).toHaveBeenLastCalledWith("opened", expect.objectContaining({ targets: ["onnxruntime"] }));
  expect([totalMs(), switchedOff.value.has("tvm")]).toEqual([3, true]);
  await setAccuracy("1e-4");
  expect([totalMs(), accuracyText.value, termCount.value]).toEqual([4, "1e-4", 2]);
  stepHistory(-1);
  expect([accuracyText.value, switchedOff.value.has("tvm")]).toEqual(["", true]);
  stepHistory(-1);
  expect([totalMs(), switchedOff.value.has("tvm")]).toEqual([2, false]);
  await switchTarget("somebody else's");
  expect([switchedOff.value.has("somebody else's"), totalMs()]).toEqual([true, 2]);
  await setAccuracy("much");
  expect(whatIf.value).toBeNull();
});

test("a decision that cannot hold changes nothing and gives the reason", async () => {
  await decide(PIN);
  const error = { code: "infeasible", message: "the constraints 0, 1 cannot hold together", hint: "" };
  askWhatIf.mockResolvedValueOnce({ run: "opened", plan: null, optimal: false, untimed: 0, keeps_plan: false, time: null, change: null, change_text: "said", predicted_text: "", error, conflict: [0, 1], off: ["tvm"], uncovered: [] });
  await decide(VETO);
  expect(refusal.value).toEqual({ error, wanted: { groups: [[PIN], [VETO]], off: [], accuracy: "", costs: {} }, groups: [0, 1], off: ["tvm"] });
  expect([totalMs(), constraints.value]).toEqual([3, [PIN]]);
  stepHistory(-1);
  expect(refusal.value).toBeNull();
});

test("a decision that cannot hold is tried again without one of those that it collides with", async () => {
  const cuts = [cutBetween("n0", "n1"), cutBetween("n1", "n2")];
  await decide(...cuts);
  await switchTarget("tvm");
  const error = { code: "infeasible", message: "", hint: "" };
  askWhatIf.mockResolvedValueOnce({ run: "opened", plan: null, optimal: false, untimed: 0, keeps_plan: false, time: null, change: null, change_text: "said", predicted_text: "", error, conflict: [1, 2], off: ["tvm"], uncovered: [] });
  await decide(PIN);
  const refused = refusal.value;
  expect(refused?.groups).toEqual([0, 1]);
  if (!refused) return;
  await decideWithout(refused, 0);
  expect([constraints.value, terms.value.off, refusal.value]).toEqual([[PIN], ["tvm"], null]);
  await decideWithout(refused, "tvm");
  expect([constraints.value, terms.value.off]).toEqual([[...cuts, PIN], []]);
});

test("cuts of one decision are one constraint in the kept run, and in the page that opens it", async () => {
  await decide(cutBetween("n0", "n1"), cutBetween("n1", "n2"));
  await decide(cutBetween("n2", "n3"));
  await keep();
  expect(startRun).toHaveBeenCalledWith(expect.objectContaining({ groups: [[0, 1], [2]] }));
  const kept = keptRun.value;
  adoptRun(null);
  adoptRun(kept);
  expect(termCount.value).toBe(2);
});

test("without a plan decisions wait for the next run", async () => {
  showRun(runSnapshot({ id: "failed", state: "failed", plan: null }));
  adoptRun(keptRun.value);
  await decide(PIN);
  expect([isWaiting.value, constraints.value, askWhatIf.mock.calls.length]).toEqual([true, [PIN], 0]);
});

test("discarding goes back to the kept plan, also where the entry before waited for a run", async () => {
  adoptRun(null);
  keptRun.value = null;
  await decide(PIN);
  showRun(opened);
  keepRun(opened);
  stepHistory(-1);
  await decide(VETO);
  expect(totalMs()).toBe(3);
  discard();
  expect([totalMs(), whatIf.value]).toEqual([2, null]);
});

test("a cost that is typed in is a term like any other: tried, undone, taken back, and not held by a run that measures", async () => {
  await setCost("c0", 1.2e-3);
  await setCost("c1", 0);
  expect(askWhatIf).toHaveBeenLastCalledWith("opened", expect.objectContaining({ costs: { c0: 1.2e-3, c1: 0 } }));
  expect(termCount.value).toBe(2);
  stepHistory(-1);
  expect(terms.value.costs).toEqual({ c0: 1.2e-3 });
  await keep();
  expect(startRun).toHaveBeenCalledWith(expect.objectContaining({ base: "opened", costs: { c0: 1.2e-3 } }));
  await setCost("c0", null);
  expect(terms.value.costs).toEqual({});
  stepHistory(-1);
  keepRun(runSnapshot({ id: "measured", counts }));
  expect(terms.value.costs).toEqual({});
});

test("a run that was opened brings its own terms", () => {
  adoptRun(runSnapshot({ id: "other", state: "done", counts, targets: ["tvm"], constraints: [PIN], base: "opened", accuracy: 1e-5 }));
  expect([constraints.value, termCount.value, accuracyText.value]).toEqual([[PIN], 3, "0.00001"]);
});
