import { expect, test, vi } from "vitest";
import { partition, runSnapshot } from "../../../test/runs";
import { api } from "../../data/api";
import type { RunEvent, RunSnapshot } from "../../data/protocol";
import { followRun } from "./stream";

const socket = vi.hoisted(() => {
  const heard = new Map<string, (...args: unknown[]) => void>();
  return { connected: true, on: (name: string, call: (...args: unknown[]) => void) => heard.set(name, call), emit: () => undefined, hear: (name: string, ...args: unknown[]) => heard.get(name)?.(...args) };
});
vi.mock("socket.io-client", () => ({ io: () => socket }));

const ENDED: RunEvent = { type: "RunStateChanged", state: "done", error: null, conflict: [], uncovered: [], artifact: false } as unknown as RunEvent;
const IMPROVED: RunEvent = { type: "PlanImproved", total_s: 1e-3, partitions: [["tvm", [0]]] } as unknown as RunEvent;

function send(run: string, ...events: RunEvent[]): void {
  const items = events.map((event, i) => ({ seq: i + 1, event, at_s: 1 }));
  socket.hear("batch", { run, items, after: 0, now_s: 1 }, () => undefined);
}

test("the end of a run is told together with the costs of its plan, which events do not know", async () => {
  const running = runSnapshot({ id: "slow", state: "running", plan: null });
  const final = runSnapshot({ id: "slow", state: "done", seq: 2, plan: { total_s: 1e-3, partitions: [partition("tvm", [0])], transitions: [], total_interval_s: null } });
  const fetched = vi.spyOn(api, "run").mockResolvedValue(final);
  const told: RunSnapshot[] = [];
  followRun("slow", running, (run) => told.push(run), () => undefined);
  await vi.waitFor(() => expect(() => send("slow", IMPROVED, ENDED)).not.toThrow());
  await vi.waitFor(() => {
    send("slow", IMPROVED, ENDED);
    expect(told.at(-1)?.state).toBe("done");
  });
  expect(fetched).toHaveBeenCalledTimes(1);
  expect(told.map((run) => [run.state, run.plan?.partitions.map((one) => one.cost_s)])).toEqual([
    ["running", undefined],
    ["done", [1e-3]],
  ]);
});

test("an end whose costs cannot be fetched is told as far as it is known, after the error", async () => {
  vi.spyOn(api, "run").mockRejectedValue(Object.assign(new Error("gone"), { code: "unknown_run", hint: "" }));
  const told: string[] = [];
  followRun("lost", runSnapshot({ id: "lost", state: "running", plan: null }), (run) => told.push(run.state), () => told.push("error"));
  await vi.waitFor(() => {
    send("lost", ENDED);
    expect(told).toEqual(["running", "error", "done"]);
  });
});
