// The scheduler of animation frames: everything that draws or moves requests its frame here, and each job runs once a frame at most.

import { begin } from "./idle";

/** Draws or moves something. Returning true requests another frame, for an animation. */
export type FrameJob = (nowMs: number) => boolean;

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
  jobs.clear();
  for (const job of due) if (job(nowMs)) jobs.add(job);
  if (jobs.size > 0) {
    requestAnimationFrame(frame);
    return;
  }
  end?.();
  end = undefined;
}
