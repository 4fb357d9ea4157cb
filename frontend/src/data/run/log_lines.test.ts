import { expect, test } from "vitest";
import type { CandidateCosted, Numbered, RunEvent } from "../protocol";
import { asText, clock, EVERY_LINE, filteredLines, logLines } from "./log_lines";

const cost = { seconds: 1e-4, source: "measured", spread_s: null, samples: 3, stage: "", reason: "", stopped_early: false, error: null, interval_s: null, tuned: null, alone_s: null };
const costed: Omit<CandidateCosted, "cost"> = { type: "CandidateCosted", target: "tvm", candidates: ["c"], label: "Conv", from_cache: false, done: 1, total: 2, took_s: 1.94, left_s: null };
const events: RunEvent[] = [
  { type: "RunStateChanged", state: "running", error: null, conflict: [], uncovered: [], artifact: false, waits_for: "" },
  { type: "PhaseStarted", phase: "costs" },
  { type: "SearchProgress", states: 1, transitions: 1, frontier: 1, covered: 1, nodes: 2, lower_bound_s: 1, best_s: null, placed: [], placed_s: 0 },
  { ...costed, cost },
  { ...costed, cost: { ...cost, seconds: null, source: "invalid", stage: "build", reason: "no\nlinker" } },
  { type: "PhaseEnded", phase: "costs", seconds: 3 },
  { type: "Note", text: "too close to call" },
  { type: "Verified", measured_s: 1e-3, max_rel_error: 0.5, accuracy: 1e-3 },
  { type: "RunStateChanged", state: "failed", error: { code: "died", message: "it crashed", hint: "run it again" }, conflict: [], uncovered: [], artifact: false, waits_for: "" },
];
const items: Numbered[] = events.map((event, i) => ({ seq: i + 1, event, at_s: i }));
const lines = logLines(items);

test("every decision is a line, in order, in its phase", () => {
  expect(lines.map((line) => line.text)).toEqual([
    "the run is running",
    "building and measuring candidates …",
    "tvm Conv: 0.10 ms measured, trial of 1.9 s (1 of 2)",
    "tvm Conv: build, no\nlinker, trial of 1.9 s (1 of 2)",
    "costs took 3.0 s",
    "too close to call",
    "wrong: largest relative error 5e-1, at most 1e-3; measured 1.00 ms",
    "the run is failed: it crashed (run it again)",
  ]);
  expect(lines.map((line) => line.seq)).toEqual([1, 2, 4, 5, 6, 7, 8, 9]);
  expect(lines.map((line) => line.phase)).toEqual(["", ...Array<string>(7).fill("costs")]);
});

test("an infinite error is an error", () => {
  const event = { type: "Verified", measured_s: 1e-3, max_rel_error: null, accuracy: 1e-3 } as const;
  expect(logLines([{ seq: 1, event, at_s: 0 }])).toMatchObject([{ level: "error", text: "wrong: largest relative error infinite, at most 1e-3; measured 1.00 ms" }]);
});

test("lines that come later go on in the phase", () => {
  expect([...logLines(items.slice(0, 3)), ...logLines(items.slice(3), logLines(items.slice(0, 3)).at(-1))]).toEqual(lines);
});

test("filtered by phase, level and text", () => {
  expect(filteredLines(lines, EVERY_LINE)).toEqual(lines);
  expect(filteredLines(lines, { ...EVERY_LINE, phase: "costs" })).toHaveLength(7);
  expect(filteredLines(lines, { ...EVERY_LINE, level: "warning" }).map((line) => line.seq)).toEqual([5, 7, 8, 9]);
  expect(filteredLines(lines, { ...EVERY_LINE, level: "error" }).map((line) => line.seq)).toEqual([8, 9]);
  expect(filteredLines(lines, { phase: "costs", level: "warning", text: " LINKER" }).map((line) => line.seq)).toEqual([5]);
});

test("as text it is one line each", () => {
  expect(asText(lines).split("\n")).toHaveLength(lines.length);
  expect(asText(lines).split("\n")[3]).toBe("0:04.0\tcosts\twarning\ttvm Conv: build, no linker, trial of 1.9 s (1 of 2)");
});

test.each([
  [0, "0:00.0"],
  [59.96, "1:00.0"],
  [725.04, "12:05.0"],
])("%s seconds are %s", (seconds, words) => expect(clock(seconds)).toBe(words));
