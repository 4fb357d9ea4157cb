// Tells whether a run is over. Pure.

import type { RunSnapshot } from "../protocol";

/** True if a run is over. */
export function hasEnded(run: Pick<RunSnapshot, "state">): boolean {
  return run.state !== "queued" && run.state !== "running";
}
