// Puts a run's snapshot and its numbered events together, in whatever order they arrive. Pure: no socket, no request.
// Events that come while a snapshot is awaited are kept, and those that are newer than it are replayed.

import type { Batch, Numbered, RunSnapshot } from "./protocol";
import { hasEnded, reduce } from "./run_reducer";

export interface Feed {
  /** The run as far as it is known. */
  snapshot: RunSnapshot | undefined;
  /** Events that wait for a snapshot. */
  queue: readonly Numbered[];
  /** How many times a snapshot was needed, and up to which of these needs it has come. */
  needed: number;
  met: number;
}

/** A feed that knows nothing yet and needs a snapshot. */
export const EMPTY_FEED: Feed = { snapshot: undefined, queue: [], needed: 1, met: 0 };

/** A feed that starts from a snapshot that is known. */
export function feedFrom(snapshot: RunSnapshot): Feed {
  return { snapshot, queue: [], needed: 0, met: 0 };
}

/** Whether a snapshot has to be fetched: begin with nothing, after a gap, and when the run has ended. */
export function needsSnapshot(feed: Feed): boolean {
  return feed.needed > feed.met;
}

/** Number of the newest event that the feed has, applied or kept: what to say to the server on a return. */
export function newest(feed: Feed): number {
  return Math.max(feed.snapshot?.seq ?? 0, ...feed.queue.map((item) => item.seq));
}

/** The feed after a batch. */
export function withBatch(feed: Feed, batch: Pick<Batch, "items" | "gap">): Feed {
  const current: Feed = batch.gap ? { ...feed, needed: feed.needed + 1 } : feed;
  if (!current.snapshot || needsSnapshot(current)) return { ...current, queue: [...current.queue, ...batch.items] };
  const snapshot = replay(current.snapshot, batch.items);
  const hasJustEnded = hasEnded(snapshot) && !hasEnded(current.snapshot);
  return { ...current, snapshot, needed: current.needed + (hasJustEnded ? 1 : 0) };
}

/** The feed after a snapshot that was asked for when `need` needs were known. An older one than what is known is not taken. */
export function withSnapshot(feed: Feed, snapshot: RunSnapshot, need: number): Feed {
  const met = Math.max(feed.met, need);
  if (feed.snapshot && feed.snapshot.seq > snapshot.seq && feed.queue.length === 0) return { ...feed, met };
  const isEnough = met >= feed.needed;
  const known = replay(snapshot, feed.queue);
  const hasJustEnded = hasEnded(known) && !hasEnded(snapshot);
  return { snapshot: known, queue: isEnough ? [] : feed.queue, needed: feed.needed + (hasJustEnded ? 1 : 0), met };
}

function replay(snapshot: RunSnapshot, items: readonly Numbered[]): RunSnapshot {
  return items.reduce((run, item) => reduce(run, item.seq, item.event), snapshot);
}
