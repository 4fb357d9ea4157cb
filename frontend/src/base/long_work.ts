// Long work in parts: it says `yield` wherever it may be interrupted, and goes on in the next frame when its share of one is used up.

import { cancelFrame, requestFrame } from "./frame_scheduler";
import { begin } from "./idle";

export type LongWork<T> = Generator<undefined, T, undefined>;

/** How long all such work together may go on in one frame: what is drawn, and what the browser does itself, have their time beside it. */
const SHARE_MS = 12;
/** What was done longer ago belongs to another frame, whether one was waited for or not. */
const FRAME_MS = 16;
/** A page that nobody sees draws no frames. */
const LATEST_MS = 250;

/** What follows comes after the next frame, so that keys are heard and moves are drawn in between. */
export function nextFrame(): Promise<void> {
  const end = begin("work");
  return new Promise<void>((resolve) => {
    const go = (): boolean => {
      clearTimeout(late);
      cancelFrame(go);
      setTimeout(resolve);
      return false;
    };
    const late = setTimeout(go, LATEST_MS);
    requestFrame(go);
  }).finally(end);
}

let usedMs = 0;
let endedAt = -Infinity;

/** Do the work over as many frames as it needs. */
export async function overFrames<T>(work: LongWork<T>, pause: () => Promise<void> = nextFrame): Promise<T> {
  let since = performance.now();
  if (since - endedAt > FRAME_MS) usedMs = 0;
  for (;;) {
    const step = work.next();
    endedAt = performance.now();
    usedMs += endedAt - since;
    if (step.done) return step.value;
    if (usedMs >= SHARE_MS) {
      await pause();
      usedMs = 0;
    }
    since = performance.now();
  }
}

/** Do the work without a pause. */
export function atOnce<T>(work: LongWork<T>): T {
  for (;;) {
    const step = work.next();
    if (step.done) return step.value;
  }
}

const RUN = 64;

/** The things one by one, with a pause where the work may be interrupted: pass `each` a function that does one of them. */
export function* eachOf<T>(things: Iterable<T>, each: (thing: T, index: number) => void): LongWork<void> {
  let index = 0;
  for (const thing of things) {
    each(thing, index);
    index += 1;
    if (index % RUN === 0) yield;
  }
}
