// The one scheduler of frames: everything that draws or moves asks here, and each job runs at most once a frame.

import { begin } from "./idle";

/** Draws or moves something; true asks for another frame (an animation). */
export type FrameJob = (nowMs: number) => boolean;

const jobs = new Set<FrameJob>();
let end: (() => void) | undefined;

/** Run `job` in the next frame; asking twice is asking once. */
export function requestFrame(job: FrameJob): void {
  jobs.add(job);
  if (end) return;
  end = begin("frame");
  requestAnimationFrame(frame);
}

/** Forget a job that was asked for. */
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
