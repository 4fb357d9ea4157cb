import { describe, expect, test } from "vitest";
import { trace } from "../../../test/traces";
import type { TraceCandidate, TraceChunk, TraceFacts, TraceResult } from "../protocol";
import { chunkOf, frameAt, frontierOf, searchAt, stepWith, type StepCounts, type ReplayFrame } from "./frames";

const { facts, chunks } = trace;

function jump(step: number): ReplayFrame {
  const chunk = chunks[chunkOf(facts, step)];
  const frame = chunk && frameAt(facts, chunk, step);
  if (!frame) throw new Error(`no step ${step}`);
  return frame;
}

const COUNTED: Record<string, keyof StepCounts> = { t: "taken", n: "found", i: "improved", x: "refused" };
const NOTHING: StepCounts = { taken: 0, found: 0, improved: 0, refused: 0 };

/** Reads the whole trace from its first step on, with a memory of its own: what frames must agree with. */
class Walker {
  private readonly came = new Map<number, readonly [number, number]>();
  private readonly all = new Map(chunks.flatMap((chunk) => chunk.shown).map((one): [number, TraceCandidate] => [one.number, one]));
  private counts = NOTHING;
  private bestS: number | null = null;

  walk(): Partial<ReplayFrame>[] {
    return chunks.flatMap((chunk) => [...chunk.kinds].map((kind, at) => this.step(chunk, kind, at)));
  }

  private step(chunk: TraceChunk, kind: string, at: number): Partial<ReplayFrame> {
    const step = chunk.first + at;
    const [state, parent, candidate, value] = [chunk.states, chunk.parents, chunk.candidates, chunk.values].map((column) => column[at]) as [number, number, number, number];
    if (facts.searches.some((one) => one.first === step)) [this.counts, this.bestS] = [NOTHING, null];
    if (kind === "p") this.bestS = value / 1e15;
    const name = COUNTED[kind];
    if (name) this.counts = { ...this.counts, [name]: this.counts[name] + 1 };
    const isMove = kind === "n" || kind === "i";
    if (isMove) this.came.set(state, [parent, candidate]);
    const isPlan = kind === "p" || kind === "e";
    const placed = isPlan ? this.candidates(chunk.plans[candidate] as number[]) : this.way(isMove ? parent : state);
    return { step, counts: this.counts, bestS: this.bestS, placed, candidate: isMove || kind === "x" ? (this.all.get(candidate)) : null };
  }

  private candidates(numbers: number[]): TraceCandidate[] {
    return numbers.map((number) => this.all.get(number) as TraceCandidate);
  }

  private way(state: number): TraceCandidate[] {
    const link = this.came.get(state);
    return link ? [...this.way(link[0]), ...this.candidates([link[1]])] : [];
  }
}

test("the step at which so many states are expanded", () => {
  for (const chunk of chunks) {
    for (let at = 0; at < chunk.kinds.length; at++) {
      if (chunk.kinds[at] !== "t") continue;
      const taken = chunk.start.taken + [...chunk.kinds.slice(0, at + 1)].filter((kind) => kind === "t").length;
      expect(stepWith(chunk, taken)).toBe(chunk.first + at);
    }
    expect(stepWith(chunk, 1e9)).toBe(chunk.first + chunk.kinds.length - 1);
  }
});

describe("a frame is the same, whichever steps were shown before it", () => {
  const walked = new Walker().walk();
  test.each(walked.map((_, step) => step))("step %i by jumping is what stepping gives", (step) => {
    expect(jump(step)).toMatchObject(walked[step] ?? {});
  });

  test("in any order", () => {
    const forward = walked.map((_, step) => jump(step));
    const steps = walked.map((_, step) => (step * 31) % walked.length);
    for (const step of steps) expect(jump(step)).toEqual(forward[step]);
    const fresh = structuredClone(chunks);
    for (const step of steps) expect(frameAt(facts, fresh[chunkOf(facts, step)] as TraceChunk, step)).toEqual(forward[step]);
  });
});

test.each(facts.searches.map((search) => [search.title, search] as const))("%s takes what its result says, and its plan covers everything", (_, search) => {
  const end = [...Array(facts.steps).keys()].map(jump).find((frame) => frame.kind === "end" && frame.search === search) as ReplayFrame;
  const result = search.result as TraceResult;
  const { taken, found, improved, refused } = end.counts;
  expect([taken, found + improved + refused]).toEqual([result.states, result.transitions]);
  expect(end.totalS).toBeCloseTo(result.total_s as number);
  expect(end.bestS).toBeCloseTo(result.total_s as number);
  expect(frontierOf(end.placed, facts.nodes)).toBeNull();
});

test("the lower bound of the plans over the taken states never falls, and ends at the total", () => {
  const first = [...Array(facts.steps).keys()].map(jump).filter((frame) => frame.search === facts.searches[0]);
  const least = first.filter((frame) => frame.kind === "taken").map((frame) => frame.leastS ?? NaN);
  expect([...least].sort((a, b) => a - b)).toEqual(least);
  expect(least.at(-1)).toBeCloseTo(facts.searches[0]?.result?.total_s ?? 0);
});

test("a chunk gives no steps but its own", () => {
  const [first] = chunks;
  expect(first && frameAt(facts, first, facts.chunk_steps)).toBeUndefined();
  expect(first && frameAt(facts, first, -1)).toBeUndefined();
});

test("a step belongs to the search that began last", () => {
  const [one, two] = facts.searches;
  expect(searchAt(facts, (two?.first ?? 0) - 1)).toBe(one);
  expect(searchAt(facts, two?.first ?? 0)).toBe(two);
});

test("steps that were left out are counted, and a walk that begins again keeps the best plan", () => {
  const before = { taken: 0, found: 0, improved: 0, refused: 0, best_s: null };
  const walk = { title: "x", is_again: false, first: 0, candidates: 1, before, bound_s: null, result: null };
  const again = { ...walk, is_again: true, first: 2, before: { ...before, taken: 40, found: 30, improved: 20, refused: 10 } };
  const thinned: TraceFacts = { ...facts, searches: [walk, again] };
  const chunk: TraceChunk = {
    first: 0,
    kinds: "psbt",
    states: [-1, 40, 7, 7],
    parents: [-1, 30, -1, -1],
    candidates: [0, 20, -1, -1],
    values: [5e15, 10, 0, 0],
    ways: [7, -1, -1],
    plans: [[]],
    shown: [],
    start: before,
  };
  expect(frameAt(thinned, chunk, 1)).toMatchObject({ kind: "skipped", counts: { taken: 40, found: 30, improved: 20, refused: 10 }, placed: [], state: -1 });
  expect(frameAt(thinned, chunk, 3)).toMatchObject({ kind: "taken", counts: { taken: 1, found: 0, improved: 0, refused: 0 }, open: 0, bestS: 5, leastS: null });
});
