// Puts a run's snapshot and its batches of numbered events together, in whatever order they arrive. Pure: no socket, no request.
// A batch says after which event it comes: one that comes too early waits for what is missing, or for a snapshot.

import type { Batch, RunSnapshot } from "../protocol";
import { hasEnded, reduce } from "./reducer";

export type Delivered = Pick<Batch, "items" | "after" | "now_s">;

/** Events that may wait; when there are more they are let go, and a snapshot that is asked for later has to do. */
const MOST_WAITING = 20_000;

export interface Feed {
  /** The run as far as it is known. */
  snapshot: RunSnapshot | undefined;
  /** Batches that came too early. */
  waiting: readonly Delivered[];
  /** How many times a snapshot was needed, and up to which of these needs it has come. */
  needed: number;
  met: number;
}

/** A feed that knows nothing yet and needs a snapshot. */
export const EMPTY_FEED: Feed = { snapshot: undefined, waiting: [], needed: 1, met: 0 };

/** A feed that starts from a snapshot that is known. */
export function feedFrom(snapshot: RunSnapshot): Feed {
  return { snapshot, waiting: [], needed: 0, met: 0 };
}

/** Whether a snapshot has to be fetched: to begin with, where events are missing, and when the run has ended. */
export function needsSnapshot(feed: Feed): boolean {
  return feed.needed > feed.met;
}

/** Number of the event up to which nothing is missing: what to say to the server on a return. */
export function newest(feed: Feed): number {
  return feed.snapshot?.seq ?? 0;
}

/** The feed after a batch. */
export function withBatch(feed: Feed, batch: Delivered): Feed {
  const waiting = [...feed.waiting, batch];
  if (waiting.reduce((sum, one) => sum + one.items.length, 0) > MOST_WAITING) return { ...feed, waiting: [], needed: feed.needed + 1 };
  return settled({ ...feed, waiting });
}

/** The feed after a snapshot that was asked for when `need` needs were known. An older one than what is known is not taken. */
export function withSnapshot(feed: Feed, snapshot: RunSnapshot, need: number): Feed {
  const isOld = feed.snapshot !== undefined && feed.snapshot.seq > snapshot.seq;
  return settled({ ...feed, snapshot: isOld ? feed.snapshot : snapshot, met: Math.max(feed.met, need) });
}

/** Take what can be taken; where something is missing, or the run has just ended, a snapshot is needed. */
function settled(feed: Feed): Feed {
  if (!feed.snapshot) return feed;
  const before = feed.snapshot;
  let snapshot = before;
  const early: Delivered[] = [];
  for (const batch of [...feed.waiting].sort((a, b) => a.after - b.after)) {
    if (batch.after > snapshot.seq) early.push(batch);
    else snapshot = taken(snapshot, batch);
  }
  const hasJustEnded = hasEnded(snapshot) && !hasEnded(before);
  const isMissing = early.length > 0 && !needsSnapshot(feed);
  return { ...feed, snapshot, waiting: early, needed: feed.needed + (hasJustEnded || isMissing ? 1 : 0) };
}

function taken(snapshot: RunSnapshot, { items, now_s }: Delivered): RunSnapshot {
  const after = items.reduce(reduce, snapshot);
  return after === snapshot || hasEnded(after) ? after : { ...after, now_s: Math.max(after.now_s, now_s) };
}
