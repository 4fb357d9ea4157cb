// Follows runs over one socket: numbered batches arrive and are acknowledged, and snapshots are fetched where they are needed. After a
// reconnection every run is subscribed again from the last known event; the run itself goes on meanwhile.

import { signal } from "@preact/signals";
import type { Socket } from "socket.io-client";
import { api, asApiError } from "../../data/api";
import { config } from "../../data/config";
import type { ApiError, Batch, RunSnapshot, Subscribe, Subscribed } from "../../data/protocol";
import { EMPTY_FEED, feedFrom, needsSnapshot, newest, withBatch, withSnapshot, type Feed } from "../../data/run/feed";
import { hasEnded } from "../../data/run/reducer";

/** The state of the socket; `idle` where no run is followed. */
export const connection = signal<"idle" | "live" | "disconnected">("idle");

interface Followed {
  feed: Feed;
  isFetching: boolean;
  changed: (run: RunSnapshot) => void;
  failed: (error: ApiError) => void;
}

const followed = new Map<string, Followed>();
let opening: Promise<Socket> | undefined;

/** Call `changed` with every state of a run, until the run has ended or the function that is returned is called. */
export function followRun(id: string, known: RunSnapshot | undefined, changed: Followed["changed"], failed: Followed["failed"]): () => void {
  const entry: Followed = { feed: known ? feedFrom(known) : EMPTY_FEED, isFetching: false, changed, failed };
  followed.set(id, entry);
  if (known) changed(known);
  void advance(id, entry);
  return () => {
    if (followed.get(id) === entry) void stop(id);
  };
}

/** Fetch a snapshot where one is needed, subscribe to a run that goes on, or stop following one that is over. */
async function advance(id: string, entry: Followed): Promise<void> {
  if (needsSnapshot(entry.feed)) {
    await fetchSnapshot(id, entry);
    return;
  }
  const run = entry.feed.snapshot;
  if (followed.get(id) !== entry || !run) return;
  if (hasEnded(run)) await stop(id);
  else await subscribe(id, entry);
}

async function fetchSnapshot(id: string, entry: Followed): Promise<void> {
  if (entry.isFetching) return;
  entry.isFetching = true;
  const need = entry.feed.needed;
  try {
    entry.feed = withSnapshot(entry.feed, await api.run(id), need);
  } catch (error) {
    const known = asApiError(error);
    if (known.code === "unreachable") void open();
    else followed.delete(id);
    entry.failed(known);
    tell(entry);
    return;
  } finally {
    entry.isFetching = false;
  }
  if (followed.get(id) !== entry) return;
  tell(entry);
  await advance(id, entry);
}

function tell({ feed, changed }: Followed): void {
  if (feed.snapshot) changed(feed.snapshot);
}

const listeners = new Map<string, Set<(batch: Batch) => void>>();

/** Call `heard` with every batch of a followed run, until the function that is returned is called. */
export function listenToRun(id: string, heard: (batch: Batch) => void): () => void {
  const all = listeners.get(id) ?? new Set();
  listeners.set(id, all.add(heard));
  return () => {
    all.delete(heard);
    if (all.size === 0) listeners.delete(id);
  };
}

const subscribed = new Set<string>();

async function subscribe(id: string, entry: Followed): Promise<void> {
  const socket = await open();
  if (!socket.connected || subscribed.has(id) || followed.get(id) !== entry) return;
  subscribed.add(id);
  const message: Subscribe = { run: id, after: newest(entry.feed) };
  socket.emit("subscribe", message, (answer: Subscribed | { error: ApiError }) => {
    if (!("error" in answer)) return;
    subscribed.delete(id);
    entry.feed = { ...entry.feed, needed: entry.feed.needed + 1 };
    void advance(id, entry);
  });
}

async function stop(id: string): Promise<void> {
  followed.delete(id);
  if (subscribed.delete(id)) (await open()).emit("unsubscribe", { run: id });
  if (followed.size === 0) connection.value = "idle";
}

function open(): Promise<Socket> {
  opening ??= import("socket.io-client").then(({ io }) => {
    // Only the timeout notices a connection that breaks before the server has answered.
    const path = `${config.prefix}/socket.io`;
    const socket = io({ path, transports: ["websocket", "polling"], reconnectionDelayMax: 2000, timeout: 3000 });
    socket.on("connect", () => connected());
    socket.on("disconnect", () => disconnected());
    socket.on("connect_error", () => disconnected());
    socket.on("batch", (batch: Batch, acknowledge: () => void) => {
      received(batch);
      acknowledge();
    });
    return socket;
  });
  return opening;
}

function connected(): void {
  subscribed.clear();
  connection.value = followed.size > 0 ? "live" : "idle";
  for (const [id, entry] of followed) void advance(id, entry);
}

function disconnected(): void {
  subscribed.clear();
  if (followed.size > 0) connection.value = "disconnected";
}

function received(batch: Batch): void {
  const entry = followed.get(batch.run);
  if (!entry) return;
  const before = entry.feed.snapshot;
  entry.feed = withBatch(entry.feed, batch);
  const after = entry.feed.snapshot;
  // Events do not know the costs of the final plan: that a run has ended is told with the snapshot that does.
  if (after && after !== before && !hasEnded(after)) entry.changed(after);
  for (const heard of listeners.get(batch.run) ?? []) heard(batch);
  if (needsSnapshot(entry.feed)) void advance(batch.run, entry);
}
