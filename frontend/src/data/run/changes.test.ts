import { expect, test } from "vitest";
import sent from "../../../test/run_changes.json";
import { partition, runSnapshot } from "../../../test/runs";
import type { Change, RunSnapshot } from "../protocol";
import { changed } from "./changes";

const runs = sent.runs as unknown as { changes: Change[]; end: RunSnapshot; misfits: number }[];

test.each(runs.map((run, i) => [i, run] as const))("a page that merges what the server sends has what its snapshot says (run %i)", (_, { changes, end, misfits }) => {
  let run = sent.start as unknown as RunSnapshot;
  let dropped = 0;
  for (const change of changes) {
    const next = changed(run, change);
    if (next) run = next;
    else dropped += 1;
  }
  expect(run).toEqual(end);
  expect(dropped).toBe(misfits);
});

test("the server's messages hold changes that do not fit, and whole snapshots", () => {
  expect(runs.some(({ misfits }) => misfits > 0)).toBe(true);
  expect(runs.every(({ changes }) => changes.some(({ after }) => after === null))).toBe(true);
});

test("what did not change stays the same object", () => {
  const known = runSnapshot({ seq: 3, plan: { total_s: 1, partitions: [partition("tvm", [0])], transitions: [], total_interval_s: null } });
  const next = changed(known, { run: "r1", after: 3, patch: [{ op: "replace", path: "/seq", value: 4 }, { op: "replace", path: "/plan/total_s", value: 0.5 }] });
  expect(next).toEqual({ ...known, seq: 4, plan: { ...known.plan, total_s: 0.5 } });
  expect(next?.plan?.partitions).toBe(known.plan?.partitions);
  expect(next?.convergence).toBe(known.convergence);
  expect(known.seq).toBe(3);
});
