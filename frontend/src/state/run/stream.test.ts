import { beforeEach, expect, test, vi } from "vitest";
import { partition, runSnapshot } from "../../../test/runs";
import type { ApiError, Batch, Change, PatchOperation, RunSnapshot, Subscribe } from "../../data/protocol";
import { connection, followRun, listenToRun } from "./stream";

type Answer = (answer: unknown) => void;
interface Sent {
  name: string;
  message: Subscribe;
  answer: Answer;
}

const socket = vi.hoisted(() => {
  const heard = new Map<string, (...args: unknown[]) => void>();
  const sent: Sent[] = [];
  return {
    connected: true,
    sent,
    on: (name: string, call: (...args: unknown[]) => void) => heard.set(name, call),
    emit: (name: string, message: Subscribe, answer: Answer) => sent.push({ name, message, answer }),
    hear: (name: string, ...args: unknown[]) => heard.get(name)?.(...args),
  };
});
vi.mock("socket.io-client", () => ({ io: () => socket }));

const acknowledged = vi.fn();
const fail = (error: ApiError): void => expect.fail(error.message);

/** The messages that the page has sent since the last call. */
function sent(): [string, Subscribe][] {
  return socket.sent.splice(0).map(({ name, message }) => [name, message]);
}

/** Wait until the page has sent something. */
async function settled(): Promise<void> {
  await vi.waitFor(() => expect(socket.sent.length).toBeGreaterThan(0));
}

function send(run: string, after: number | null, ...patch: PatchOperation[]): void {
  const change: Change = { run, after, patch };
  socket.hear("change", change, acknowledged);
}

const put = (path: string, value: unknown): PatchOperation => ({ op: "replace", path, value });
const subscribe = (run: string, after: number): [string, Subscribe] => ["subscribe", { run, after, to: "snapshot" }];

beforeEach(() => {
  socket.connected = true;
  socket.sent.length = 0;
  acknowledged.mockClear();
});

test("a run is followed to its end, which comes with the costs of its plan", async () => {
  const told: RunSnapshot[] = [];
  followRun(runSnapshot({ id: "slow", seq: 1, plan: null }), (run) => told.push(run), fail);
  await settled();
  expect(sent()).toEqual([subscribe("slow", 1)]);
  send("slow", 1, put("/seq", 2), put("/done", 1));
  send("slow", 2, put("/seq", 3), put("/state", "done"), put("/plan", { total_s: 1e-3, partitions: [partition("tvm", [0])], transitions: [], total_interval_s: null }));
  expect(acknowledged).toHaveBeenCalledTimes(2);
  expect(told.map(({ seq, state, plan }) => [seq, state, plan?.partitions[0]?.cost_s])).toEqual([
    [1, "running", undefined],
    [2, "running", undefined],
    [3, "done", 1e-3],
  ]);
  await settled();
  expect(sent()).toEqual([["unsubscribe", { run: "slow", to: "snapshot" }]]);
  expect(connection.value).toBe("idle");
});

test("a change of another snapshot is dropped, and the whole is asked for once", async () => {
  const told: number[] = [];
  const stop = followRun(runSnapshot({ id: "jump", seq: 4 }), (run) => told.push(run.seq), fail);
  await settled();
  socket.sent[0]?.answer({ run: "jump", seq: 9 });
  sent();
  send("jump", 2, put("/seq", 3));
  send("jump", 3, put("/seq", 4), put("/done", 7));
  expect(told).toEqual([4]);
  expect(acknowledged).toHaveBeenCalledTimes(2);
  expect(sent()).toEqual([subscribe("jump", 4)]);
  send("jump", null, put("", runSnapshot({ id: "jump", seq: 9, done: 2 })));
  expect(told).toEqual([4, 9]);
  stop();
});

test("after a reconnection every subscription is made again from what is known", async () => {
  socket.connected = false;
  const stop = followRun(runSnapshot({ id: "lost", seq: 1 }), () => undefined, fail);
  let last = 1;
  const deaf = listenToRun("lost", () => last, ({ items }) => (last = items.at(-1)?.seq ?? last));
  socket.connected = true;
  await vi.waitFor(() => {
    socket.hear("connect");
    expect(socket.sent.length).toBeGreaterThan(0);
  });
  expect(connection.value).toBe("live");
  expect(sent().slice(0, 2)).toEqual([subscribe("lost", 1), ["subscribe", { run: "lost", after: 1, to: "events" }]]);
  send("lost", 1, put("/seq", 6));
  const batch: Batch = { run: "lost", items: [{ seq: 5, event: { type: "Note", text: "late" }, at_s: 1 }], gap: false, after: 1, now_s: 1 };
  socket.hear("batch", batch, acknowledged);
  expect(acknowledged).toHaveBeenCalledTimes(2);
  socket.hear("disconnect");
  expect(connection.value).toBe("disconnected");
  sent();
  socket.hear("connect");
  expect(sent()).toEqual([subscribe("lost", 6), ["subscribe", { run: "lost", after: 5, to: "events" }]]);
  deaf();
  stop();
  await vi.waitFor(() => expect(socket.sent.length).toBe(2));
  expect(sent().map(([name, { to }]) => [name, to])).toEqual([["unsubscribe", "events"], ["unsubscribe", "snapshot"]]);
  expect(connection.value).toBe("idle");
});

test("a run that cannot be followed is told with the server's reason", async () => {
  const error = vi.fn();
  followRun(runSnapshot({ id: "gone" }), () => undefined, error);
  await settled();
  const reason = { code: "unknown_run", message: "there is no run 'gone'", hint: "" };
  socket.sent[0]?.answer({ error: reason });
  expect(error).toHaveBeenCalledWith(reason);
  expect(connection.value).toBe("idle");
});

test("a run that is followed again is not left by whoever followed it before", async () => {
  const stop = followRun(runSnapshot({ id: "twice" }), () => expect.soft(true), fail);
  const again = followRun(runSnapshot({ id: "twice" }), () => undefined, fail);
  await settled();
  stop();
  expect(sent()).toEqual([subscribe("twice", 0)]);
  again();
  await settled();
  expect(sent()).toEqual([["unsubscribe", { run: "twice", to: "snapshot" }]]);
});
