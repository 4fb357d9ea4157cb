// Follows runs over one socket: what changes of their snapshots, and the events of those whose log is open. Every message is acknowledged.
// After a reconnection each subscription is made again from what is known; the run itself goes on meanwhile.

import { signal } from "@preact/signals";
import type { Socket } from "socket.io-client";
import { config } from "../../data/config";
import type { ApiError, Batch, Change, RunSnapshot, Subscribe, Subscribed } from "../../data/protocol";
import { changed } from "../../data/run/changes";
import { hasEnded } from "../../data/run/ended";

/** The state of the socket; `idle` where no run is followed. */
export const connection = signal<"idle" | "live" | "disconnected">("idle");

interface Followed {
  run: RunSnapshot;
  told: (run: RunSnapshot) => void;
  failed: (error: ApiError) => void;
  /** True while the server has not answered the subscription. */
  isAsking: boolean;
}

interface Heard {
  /** The number of the last event that is known. */
  after: () => number;
  heard: (batch: Batch) => void;
}

const followed = new Map<string, Followed>();
const listened = new Map<string, Heard>();
let opening: Promise<Socket> | undefined;

/** Call `told` with a run and each of its later states, until the run has ended or the function that is returned is called. */
export function followRun(known: RunSnapshot, told: Followed["told"], failed: Followed["failed"]): () => void {
  const entry: Followed = { run: known, told, failed, isAsking: false };
  followed.set(known.id, entry);
  told(known);
  void whenConnected((socket) => followed.get(known.id) === entry && follow(socket, entry));
  return () => void (followed.get(known.id) === entry && unfollow(known.id));
}

/** Call `heard` with every batch of a run's events after the one of number `after`, until the function that is returned is called. */
export function listenToRun(run: string, after: Heard["after"], heard: Heard["heard"]): () => void {
  const entry: Heard = { after, heard };
  listened.set(run, entry);
  void whenConnected((socket) => listened.get(run) === entry && listen(socket, run, entry));
  return () => {
    if (listened.get(run) !== entry) return;
    listened.delete(run);
    void whenConnected((socket) => !listened.has(run) && leave(socket, { run, to: "events" }));
  };
}

function follow(socket: Socket, entry: Followed): void {
  if (entry.isAsking) return;
  const { id, seq } = entry.run;
  entry.isAsking = true;
  const message: Subscribe = { run: id, after: seq, to: "snapshot" };
  socket.emit("subscribe", message, (answer: Subscribed | { error: ApiError }) => {
    entry.isAsking = false;
    if (!("error" in answer) || followed.get(id) !== entry) return;
    unfollow(id);
    entry.failed(answer.error);
  });
}

function unfollow(run: string): void {
  followed.delete(run);
  if (followed.size === 0) connection.value = "idle";
  void whenConnected((socket) => !followed.has(run) && leave(socket, { run, to: "snapshot" }));
}

function listen(socket: Socket, run: string, { after }: Heard): void {
  const message: Subscribe = { run, after: after(), to: "events" };
  socket.emit("subscribe", message);
}

function leave(socket: Socket, message: Subscribe): void {
  socket.emit("unsubscribe", message);
}

/** Call `act` with the socket if it is connected; where it is not, `connected` makes all subscriptions. */
async function whenConnected(act: (socket: Socket) => void): Promise<void> {
  const socket = await open();
  if (socket.connected) act(socket);
}

function open(): Promise<Socket> {
  opening ??= import("socket.io-client").then(({ io }) => {
    // Only the timeout notices a connection that breaks before the server has answered.
    const path = `${config.prefix}/socket.io`;
    const socket = io({ path, transports: ["websocket", "polling"], reconnectionDelayMax: 2000, timeout: 3000 });
    socket.on("connect", () => connected(socket));
    socket.on("disconnect", () => disconnected());
    socket.on("connect_error", () => disconnected());
    socket.on("change", (change: Change, acknowledge: () => void) => {
      take(socket, change);
      acknowledge();
    });
    socket.on("batch", (batch: Batch, acknowledge: () => void) => {
      listened.get(batch.run)?.heard(batch);
      acknowledge();
    });
    return socket;
  });
  return opening;
}

function connected(socket: Socket): void {
  connection.value = followed.size > 0 ? "live" : "idle";
  for (const entry of followed.values()) follow(socket, entry);
  for (const [run, entry] of listened) listen(socket, run, entry);
}

function disconnected(): void {
  for (const entry of followed.values()) entry.isAsking = false;
  if (followed.size > 0) connection.value = "disconnected";
}

function take(socket: Socket, change: Change): void {
  const entry = followed.get(change.run);
  if (!entry) return;
  const run = changed(entry.run, change);
  // A change of another snapshot than the known one was on its way when the run was subscribed to anew: that brings the whole.
  if (!run) return follow(socket, entry);
  entry.run = run;
  entry.told(run);
  if (hasEnded(run) && followed.get(run.id) === entry) unfollow(run.id);
}
