import { describe, expect, test } from "vitest";
import { runSnapshot } from "../test/runs";
import type { Numbered, RunEvent, RunSnapshot } from "./protocol";
import { EMPTY_FEED, feedFrom, needsSnapshot, newest, withBatch, withSnapshot, type Feed } from "./run_feed";
import { reduce } from "./run_reducer";

const cost = { seconds: 1, source: "measured", spread_s: null, samples: 3, stage: "", reason: "", stopped_early: false, error: null };
const events: RunEvent[] = [
  { type: "PhaseStarted", phase: "candidates" },
  { type: "CandidatesFound", target: "tvm", candidates: 4, unique: 2, rejected: 1 },
  { type: "PhaseStarted", phase: "costs" },
  { type: "CandidateCosted", target: "tvm", candidates: ["a", "b"], label: "Conv", cost, from_cache: false, done: 1, total: 2 },
  { type: "CandidateCosted", target: "tvm", candidates: ["c"], label: "Relu", cost, from_cache: true, done: 2, total: 2 },
  { type: "PlanImproved", total_s: 2, partitions: [["tvm", [0, 1]]], round: 1 },
  { type: "Note", text: "too close to call" },
];
const items: Numbered[] = events.map((event, i) => ({ seq: i + 1, event }));
const start = runSnapshot({ seq: 0, plan: null });
const after = (count: number): RunSnapshot => items.slice(0, count).reduce((run, item) => reduce(run, item.seq, item.event), start);
const end = after(items.length);

describe("every order of arrival ends with the same run", () => {
  for (let snapshotAt = 0; snapshotAt <= items.length; snapshotAt++) {
    for (let arrives = 0; arrives <= items.length; arrives++) {
      test(`a snapshot of event ${snapshotAt} that arrives after ${arrives} events`, () => {
        let feed: Feed = EMPTY_FEED;
        for (const item of items.slice(0, arrives)) feed = withBatch(feed, { items: [item], gap: false });
        feed = withSnapshot(feed, after(snapshotAt), feed.needed);
        for (const item of items.slice(Math.min(arrives, snapshotAt))) feed = withBatch(feed, { items: [item], gap: false });
        expect(feed.snapshot).toEqual(end);
        expect(needsSnapshot(feed)).toBe(false);
      });
    }
  }
});

test("the same events again change nothing", () => {
  const feed = withBatch(feedFrom(end), { items, gap: false });
  expect(feed.snapshot).toBe(end);
});

test("numbers may skip: thinned events are not missed", () => {
  const feed = withBatch(feedFrom(start), { items: [{ seq: 9, event: { type: "Note", text: "later" } }], gap: false });
  expect(feed.snapshot?.seq).toBe(9);
  expect(needsSnapshot(feed)).toBe(false);
});

test("after a gap the events wait for a snapshot, and what is known stays on the page", () => {
  const broken = withBatch(feedFrom(after(2)), { items: items.slice(5), gap: true });
  expect(broken.snapshot).toEqual(after(2));
  expect(needsSnapshot(broken)).toBe(true);
  expect(newest(broken)).toBe(7);
  const mended = withSnapshot(broken, after(5), broken.needed);
  expect(mended.snapshot).toEqual(end);
  expect(mended.queue).toEqual([]);
});

test("a gap while a snapshot is on its way asks for another one", () => {
  let feed: Feed = EMPTY_FEED;
  const asked = feed.needed;
  feed = withBatch(feed, { items: items.slice(6), gap: true });
  feed = withSnapshot(feed, after(1), asked);
  expect(needsSnapshot(feed)).toBe(true);
  feed = withSnapshot(feed, after(6), feed.needed);
  expect(feed.snapshot).toEqual(end);
  expect(needsSnapshot(feed)).toBe(false);
});

test("the end of a run asks for the final snapshot, which is taken although its number is no newer", () => {
  const ended: RunEvent = { type: "RunStateChanged", state: "done", error: null, conflict: [], uncovered: [], artifact: true };
  const feed = withBatch(feedFrom(end), { items: [{ seq: 8, event: ended }], gap: false });
  expect(needsSnapshot(feed)).toBe(true);
  expect(feed.snapshot?.state).toBe("done");
  const final = { ...end, seq: 8, state: "done" as const, optimal: true };
  expect(withSnapshot(feed, final, feed.needed).snapshot).toEqual(final);
});

test("an older snapshot than what is known is not taken", () => {
  const feed = withSnapshot({ ...feedFrom(end), needed: 1 }, after(3), 1);
  expect(feed.snapshot).toEqual(end);
  expect(needsSnapshot(feed)).toBe(false);
});
