// The scheduler of animation frames: everything that draws or moves requests its frame here, and each job runs once a frame at most.

import { begin } from "./idle";

/** Draws or moves something. Returning true requests another frame, for an animation. */
export type FrameJob = (nowMs: number) => boolean;

/** Jobs that would begin later in a frame than this wait for the next one: two that take long are not done in the same frame. */
const LATEST_MS = 16;

const jobs = new Set<FrameJob>();
let end: (() => void) | undefined;

/** Run `job` in the next frame, once however often it is requested. */
export function requestFrame(job: FrameJob): void {
  jobs.add(job);
  if (end) return;
  end = begin("frame");
  requestAnimationFrame(frame);
}

/** Forget a requested job. */
export function cancelFrame(job: FrameJob): void {
  jobs.delete(job);
}

function frame(nowMs: number): void {
  const due = [...jobs];
  const again: FrameJob[] = [];
  const began = performance.now();
  for (const job of due) {
    if (!jobs.has(job)) continue; // another job has cancelled it
    if (performance.now() - began > LATEST_MS) break;
    jobs.delete(job);
    if (job(nowMs)) again.push(job);
  }
  for (const job of again) jobs.add(job);
  if (jobs.size > 0) {
    requestAnimationFrame(frame);
    return;
  }
  end?.();
  end = undefined;
}
