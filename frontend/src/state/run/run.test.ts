import { beforeEach, expect, test, vi } from "vitest";
import { runSnapshot } from "../../../test/runs";
import { idle, pending } from "../../base/idle";
import type { RunSnapshot } from "../../data/protocol";
import { cancelOnceStarted, cancelRun, ended, isActive, runError, starting } from "./run";

const followed = vi.hoisted(() => ({ changed: (run: unknown): void => void run }));
vi.mock("./stream", () => ({
  followRun: (_known: unknown, changed: (run: unknown) => void) => {
    followed.changed = changed;
    return () => undefined;
  },
}));

const cancelled = vi.hoisted((): string[] => []);
vi.mock("../../data/api", async (original) => ({
  ...(await original<object>()),
  api: { cancelRun: (id: string) => Promise.resolve(cancelled.push(id)) },
}));

beforeEach(() => {
  cancelled.length = 0;
  starting.value = null;
  runError.value = null;
});

test("a run that is cancelled before the server has answered is cancelled when it has", async () => {
  let answer: (run: RunSnapshot) => void = () => undefined;
  starting.value = new Promise<RunSnapshot>((resolve) => (answer = resolve));
  expect(isActive.value).toBe(true);
  const over = cancelRun();
  await Promise.resolve();
  expect(cancelled).toEqual([]);
  answer(runSnapshot({ id: "late", state: "queued" }));
  await over;
  expect(cancelled).toEqual(["late"]);
});

test("nothing is cancelled where the request failed, or its run has ended already", async () => {
  await cancelOnceStarted(Promise.reject(new Error("refused")));
  await cancelOnceStarted(Promise.resolve(runSnapshot({ id: "quick", state: "done" })));
  await cancelOnceStarted(null);
  expect(cancelled).toEqual([]);
  expect(runError.value).toBeNull();
});

test("the page is not idle while it waits for the end of a search that goes on", async () => {
  const running = runSnapshot({ id: "again", state: "running" });
  let result: RunSnapshot | undefined;
  let isIdle = false;
  const waited = ended(running).then((run) => (result = run));
  const rested = idle().then(() => (isIdle = true));
  expect(pending()).toEqual(["run again"]);
  followed.changed({ ...running, seq: 1 });
  await new Promise((resolve) => setTimeout(resolve, 60));
  expect(isIdle).toBe(false);
  followed.changed({ ...running, seq: 2, state: "done" });
  await waited;
  await rested;
  expect(result?.state).toBe("done");
  expect(pending()).toEqual([]);
});
