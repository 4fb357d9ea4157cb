import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { cancelFrame, type FrameJob, requestFrame } from "./frame_scheduler";

let frames: ((nowMs: number) => void)[] = [];
let nowMs = 0;
let log: string[] = [];

beforeEach(() => {
  [frames, nowMs, log] = [[], 0, []];
  vi.stubGlobal("requestAnimationFrame", (frame: (nowMs: number) => void) => frames.push(frame));
  vi.spyOn(performance, "now").mockImplementation(() => nowMs);
});

afterEach(() => {
  while (frames.length > 0) runFrame();
  vi.unstubAllGlobals();
  vi.restoreAllMocks();
});

function runFrame(): string[] {
  log = [];
  for (const frame of frames.splice(0)) frame(nowMs);
  return log;
}

/** A job that takes so long, and runs in so many frames. */
function job(name: string, takesMs: number, times = 1): FrameJob {
  return () => {
    log.push(name);
    nowMs += takesMs;
    times -= 1;
    return times > 0;
  };
}

test("each job runs once a frame, and again where it asks for it", () => {
  const [once, twice] = [job("once", 1), job("twice", 1, 2)];
  for (const each of [once, twice, once]) requestFrame(each);
  expect(runFrame()).toEqual(["once", "twice"]);
  expect(runFrame()).toEqual(["twice"]);
  expect(frames).toEqual([]);
});

test("what would begin late in a frame runs in the next one, before an animation", () => {
  for (const each of [job("moving", 20, 3), job("graph", 30), job("strip", 5)]) requestFrame(each);
  expect(runFrame()).toEqual(["moving"]);
  expect(runFrame()).toEqual(["graph"]);
  expect(runFrame()).toEqual(["strip", "moving"]);
  expect(runFrame()).toEqual(["moving"]);
});

test("a cancelled job does not run, even if the one before it cancels it", () => {
  const late = job("late", 1);
  requestFrame(() => {
    cancelFrame(late);
    return false;
  });
  requestFrame(late);
  expect(runFrame()).toEqual([]);
});
