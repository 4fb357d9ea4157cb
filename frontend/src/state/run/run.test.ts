import { expect, test, vi } from "vitest";
import { runSnapshot } from "../../../test/runs";
import { idle, pending } from "../../base/idle";
import type { RunSnapshot } from "../../data/protocol";
import { ended } from "./run";

const followed = vi.hoisted(() => ({ changed: (run: unknown): void => void run }));
vi.mock("./stream", () => ({
  followRun: (_id: string, _known: unknown, changed: (run: unknown) => void) => {
    followed.changed = changed;
    return () => undefined;
  },
}));

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
