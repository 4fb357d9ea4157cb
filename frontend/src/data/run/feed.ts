// Puts a run's snapshot and its batches of numbered events together, in whatever order they arrive. A batch names the event that it
// follows; a batch that arrives early waits for the missing events, or for a snapshot. Pure: no socket, no request.

import type { Batch, RunSnapshot } from "../protocol";
import { hasEnded, reduce } from "./reducer";

export type Delivered = Pick<Batch, "items" | "after" | "now_s">;

/** The most events that wait. More are dropped, and a snapshot is needed instead. */
const MOST_WAITING = 20_000;

export interface Feed {
  /** The run as far as it is known. */
  snapshot: RunSnapshot | undefined;
  /** Batches that arrived early. */
  waiting: readonly Delivered[];
  /** The number of times that a snapshot was needed, and of those that are met. */
  needed: number;
  met: number;
}

/** A feed that knows nothing yet and needs a snapshot. */
export const EMPTY_FEED: Feed = { snapshot: undefined, waiting: [], needed: 1, met: 0 };

/** A feed that starts from a known snapshot. */
export function feedFrom(snapshot: RunSnapshot): Feed {
  return { snapshot, waiting: [], needed: 0, met: 0 };
}

/** True if a snapshot has to be fetched: at the start, where events are missing, and when the run has ended. */
export function needsSnapshot(feed: Feed): boolean {
  return feed.needed > feed.met;
}

/** The number of the last event before which none is missing; the server is told it after a reconnection. */
export function newest(feed: Feed): number {
  return feed.snapshot?.seq ?? 0;
}

/** The feed after a batch. */
export function withBatch(feed: Feed, batch: Delivered): Feed {
  const waiting = [...feed.waiting, batch];
  if (waiting.reduce((sum, one) => sum + one.items.length, 0) > MOST_WAITING) return { ...feed, waiting: [], needed: feed.needed + 1 };
  return settled({ ...feed, waiting });
}

/** The feed after a snapshot that was requested at need number `need`. A snapshot older than the known one only meets the need. */
export function withSnapshot(feed: Feed, snapshot: RunSnapshot, need: number): Feed {
  const isOld = feed.snapshot !== undefined && feed.snapshot.seq > snapshot.seq;
  return settled({ ...feed, snapshot: isOld ? feed.snapshot : snapshot, met: Math.max(feed.met, need) });
}

/** Apply the batches that can be applied; a snapshot is needed where events are missing, or where the run has just ended. */
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
