import { describe, expect, test } from "vitest";
import { runSnapshot } from "../../../test/runs";
import type { Numbered, RunEvent, RunSnapshot } from "../protocol";
import { EMPTY_FEED, feedFrom, needsSnapshot, newest, withBatch, withSnapshot, type Delivered, type Feed } from "./feed";
import { reduce } from "./reducer";

const cost = { seconds: 1, source: "measured", spread_s: null, samples: 3, stage: "", reason: "", stopped_early: false, error: null, interval_s: null, tuned: null, alone_s: null };
const events: RunEvent[] = [
  { type: "PhaseStarted", phase: "candidates" },
  { type: "CandidatesFound", target: "tvm", candidates: 4, unique: 2, rejected: 1 },
  { type: "PhaseStarted", phase: "costs" },
  { type: "CandidateCosted", target: "tvm", candidates: ["a", "b"], label: "Conv", cost, from_cache: false, done: 1, total: 2, took_s: 2, left_s: 2 },
  { type: "CandidateCosted", target: "tvm", candidates: ["c"], label: "Relu", cost, from_cache: true, done: 2, total: 2, took_s: null, left_s: 0 },
  { type: "PlanImproved", total_s: 2, partitions: [["tvm", [0, 1]]], round: 1 },
  { type: "Note", text: "too close to call" },
];
const items: Numbered[] = events.map((event, i) => ({ seq: i + 1, event, at_s: i }));
const start = runSnapshot({ seq: 0, plan: null });
const after = (count: number): RunSnapshot => items.slice(0, count).reduce(reduce, start);
const end = after(items.length);

/** The events from one number to another, as the server would send them. */
function batch(from: number, to: number): Delivered {
  return { items: items.slice(from, to), after: from, now_s: 0 };
}

function permutations<T>(all: readonly T[]): T[][] {
  if (all.length < 2) return [[...all]];
  return all.flatMap((one, i) => permutations([...all.slice(0, i), ...all.slice(i + 1)]).map((rest) => [one, ...rest]));
}

/** Answer as a server does that is at event `seq` by now, until nothing is needed. */
function answered(feed: Feed, seq: number): Feed {
  let now = feed;
  for (let times = 0; needsSnapshot(now); times++) {
    expect(times).toBeLessThan(3);
    now = withSnapshot(now, after(seq), now.needed);
  }
  return now;
}

describe("every order of arrival ends with the same run", () => {
  const batches = [batch(0, 2), batch(2, 3), batch(3, 5), batch(5, 7)];
  type Arrival = Delivered | { snapshot: number };
  const arrivals: Arrival[] = [...batches, { snapshot: 0 }, { snapshot: 4 }];
  test.each([
    ["from nothing", EMPTY_FEED],
    ["from a known start", feedFrom(start)],
    ["from the middle", feedFrom(after(3))],
  ])("%s", (_, from) => {
    for (const order of permutations(arrivals)) {
      let feed = from;
      for (const one of order) feed = "snapshot" in one ? withSnapshot(feed, after(one.snapshot), 0) : withBatch(feed, one);
      feed = answered(feed, items.length);
      expect(feed.snapshot).toEqual(end);
      expect(feed.waiting).toEqual([]);
    }
  });

  test("with every batch twice", () => {
    for (const order of permutations([...batches, batch(2, 5)])) {
      let feed = feedFrom(start);
      for (const one of [...order, ...order]) feed = withBatch(feed, one);
      expect(feed.snapshot).toEqual(end);
    }
  });

  test("with any one batch lost", () => {
    for (const lost of batches.slice(0, -1)) {
      for (const order of permutations(batches.filter((one) => one !== lost))) {
        let feed = feedFrom(start);
        for (const one of order) feed = withBatch(feed, one);
        expect(needsSnapshot(feed)).toBe(true);
        expect(answered(feed, items.length).snapshot).toEqual(end);
      }
    }
  });
});

test("a batch that comes too early is taken once the missing one has come, without a snapshot", () => {
  const early = withBatch(feedFrom(start), batch(3, 7));
  expect(needsSnapshot(early)).toBe(true);
  expect(early.snapshot).toBe(start);
  expect(newest(early)).toBe(0);
  expect(withBatch(early, batch(0, 3)).snapshot).toEqual(end);
});

test("the same events again change nothing", () => {
  expect(withBatch(feedFrom(end), batch(0, 7)).snapshot).toBe(end);
});

test("numbers may skip: thinned events are not missed", () => {
  const feed = withBatch(feedFrom(start), { items: [{ seq: 9, event: { type: "Note", text: "later" }, at_s: 1 }], after: 0, now_s: 2 });
  expect(feed.snapshot?.seq).toBe(9);
  expect(feed.snapshot?.now_s).toBe(2);
  expect(needsSnapshot(feed)).toBe(false);
});

test("after a gap the events wait for a snapshot, and the known state stays on the page", () => {
  const broken = withBatch(feedFrom(after(2)), batch(5, 7));
  expect(broken.snapshot).toEqual(after(2));
  expect(needsSnapshot(broken)).toBe(true);
  expect(newest(broken)).toBe(2);
  const mended = withSnapshot(broken, after(5), broken.needed);
  expect(mended.snapshot).toEqual(end);
  expect(mended.waiting).toEqual([]);
});

test("a gap with nothing after it needs a snapshot, too", () => {
  expect(needsSnapshot(withBatch(feedFrom(start), { items: [], after: 5, now_s: 0 }))).toBe(true);
});

test("a snapshot that was asked for before a gap is not enough", () => {
  const asked = EMPTY_FEED.needed;
  let feed = withBatch(EMPTY_FEED, batch(6, 7));
  feed = withSnapshot(feed, after(1), asked);
  expect(needsSnapshot(feed)).toBe(true);
  expect(answered(feed, 6).snapshot).toEqual(end);
});

test("the number of waiting events is bounded", () => {
  const many: Delivered = { items: Array.from({ length: 15_000 }, (_, i) => ({ seq: 100 + i, event: events[6] as RunEvent, at_s: 0 })), after: 99, now_s: 0 };
  let feed = withBatch(feedFrom(start), many);
  const asked = feed.needed;
  feed = withBatch(feed, { ...many, after: 98 });
  expect(feed.waiting).toEqual([]);
  expect(needsSnapshot(withSnapshot(feed, after(3), asked))).toBe(true);
});

test("the end of a run asks for the final snapshot, which is taken although its number is no newer", () => {
  const ended: RunEvent = { type: "RunStateChanged", state: "done", error: null, conflict: [], uncovered: [], artifact: true, waits_for: "" };
  const feed = withBatch(feedFrom(end), { items: [{ seq: 8, event: ended, at_s: 9 }], after: 7, now_s: 9 });
  expect(needsSnapshot(feed)).toBe(true);
  expect(feed.snapshot?.state).toBe("done");
  const final = { ...end, seq: 8, state: "done" as const, optimal: true };
  expect(withSnapshot(feed, final, feed.needed).snapshot).toEqual(final);
});

test("a snapshot older than the known state is not taken", () => {
  const feed = withSnapshot({ ...feedFrom(end), needed: 1 }, after(3), 1);
  expect(feed.snapshot).toEqual(end);
  expect(needsSnapshot(feed)).toBe(false);
});
