// Long work over several frames: a generator that yields wherever it may pause, and goes on in the next frame once its time in the
// present one is used up.

import { cancelFrame, requestFrame } from "./frame_scheduler";
import { begin } from "./idle";

export type LongWork<T> = Generator<undefined, T, undefined>;

/** The time that all such work together may take in one frame; the rest is for drawing and for the browser. */
const SHARE_MS = 12;
/** Work that ended longer ago than this belongs to an earlier frame. */
const FRAME_MS = 16;
/** The longest wait for a frame: a hidden page draws none. */
const LATEST_MS = 250;

/** Resolves after the next frame, so that keys are handled and motion is drawn in between. */
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

const RUN = 16;

/** Call `each` with every thing and its index, and yield after every few of them. */
export function* eachOf<T>(things: Iterable<T>, each: (thing: T, index: number) => void): LongWork<void> {
  let index = 0;
  for (const thing of things) {
    each(thing, index);
    index += 1;
    if (index % RUN === 0) yield;
  }
}
