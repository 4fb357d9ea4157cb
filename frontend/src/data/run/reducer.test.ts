import { expect, test } from "vitest";
import known from "../../../test/run_events.json";
import type { Numbered, RunSnapshot } from "../protocol";
import { reduce } from "./reducer";

const [start, end] = [known.start, known.end] as unknown as RunSnapshot[];
const items = known.items as unknown as Numbered[];

/** Without the ids and names of a plan's partitions, which the final snapshot brings. */
function unnamed(run: RunSnapshot | undefined): unknown {
  return run && { ...run, plan: run.plan && { ...run.plan, partitions: run.plan.partitions.map(({ target, nodes, cost_s }) => ({ target, nodes, cost_s })) } };
}

test("the page computes from events the snapshots that the server computes", () => {
  expect(unnamed(start && items.reduce(reduce, start))).toEqual(unnamed(end));
});

test("an event that is not newer changes nothing", () => {
  expect(end && items.reduce(reduce, end)).toBe(end);
});
