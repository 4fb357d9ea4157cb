import { describe, expect, test } from "vitest";
import known from "../../../test/differences.json";
import { partition } from "../../../test/runs";
import type { PlanInfo, PlanPartition } from "../protocol";
import { changeOf, differenceOf, isChange } from "./difference";

function plan(...partitions: PlanPartition[]): PlanInfo {
  return { total_s: partitions.reduce((sum, one) => sum + (one.cost_s ?? 0), 0), partitions, transitions: [], total_interval_s: null };
}

describe("two plans of one model", () => {
  const mine = plan(partition("tvm", [0, 1], 4e-3), partition("openvino", [2, 3], 2e-3), partition("tvm", [4], 1e-3), partition("tvm", [5, 6], 3e-3));
  const other = plan(partition("tvm", [0], 1e-3), partition("tvm", [1], 2e-3), partition("tvm", [2, 3], 5e-3), partition("tvm", [4], 1e-3), partition("tvm", [5, 6], 2e-3));
  const found = differenceOf(mine, other);

  test("are compared in the smallest sets of nodes that are whole partitions of both, the largest difference first", () => {
    expect(found.regions.map(({ nodes, kind }) => [nodes, kind])).toEqual([
      [[2, 3], "moved"],
      [[0, 1], "recut"],
      [[5, 6], "same"],
      [[4], "same"],
    ]);
    expect(found.regions.map((region) => Number((changeOf(region) ?? 0).toFixed(6)))).toEqual([-3e-3, 1e-3, 1e-3, 0]);
    expect(found.regions.map(isChange)).toEqual([true, true, true, false]);
    expect(found.moved).toEqual(new Set([2, 3]));
    expect(found.regionOf.get(1)).toBe(found.regions[1]);
  });

  test("the differences of the regions and the transitions add up to that of the totals", () => {
    const transition = { from: "tvm", to: "openvino", tensor: "t", bytes: 4, cost_s: 5e-4 };
    const withTransition = { ...mine, total_s: mine.total_s + 5e-4, transitions: [transition] };
    const both = differenceOf(withTransition, other);
    const sum = both.regions.reduce((all, region) => all + (changeOf(region) ?? 0), both.planTransitionsS - both.againstTransitionsS);
    expect(sum).toBeCloseTo(withTransition.total_s - other.total_s, 12);
  });

  test("exchanged differ by the opposite sign", () => {
    const back = differenceOf(other, mine);
    expect(back.moved).toEqual(found.moved);
    expect(back.regions.map(({ nodes }) => nodes)).toEqual(found.regions.map(({ nodes }) => nodes));
    back.regions.forEach((region, i) => expect((changeOf(region) ?? 1) + (changeOf(found.regions[i] ?? region) ?? 1)).toBe(0));
  });

  test("a plan is the same as itself", () => {
    const none = differenceOf(mine, mine);
    expect(none.regions.some(isChange)).toBe(false);
    expect(none.moved.size).toBe(0);
  });
});

test("partitions that overlap in a chain are one region", () => {
  const mine = plan(partition("tvm", [0, 1]), partition("tvm", [2, 3]), partition("tvm", [4]));
  const other = plan(partition("tvm", [0]), partition("tvm", [1, 2]), partition("tvm", [3, 4]));
  expect(differenceOf(mine, other).regions.map(({ nodes }) => nodes)).toEqual([[0, 1, 2, 3, 4]]);
});

test("a cost that is not known leaves the difference open, and first in the list", () => {
  const unknown = { ...partition("tvm", [1]), cost_s: null };
  const found = differenceOf(plan(partition("tvm", [0], 9e-3), unknown), plan(partition("openvino", [0], 1e-3), partition("openvino", [1])));
  expect(found.regions.map((region) => changeOf(region))).toEqual([null, 8e-3]);
});

describe("the regions are those of `collage compare` (tests/collage_core/what_if/test_plan_difference.py reads the same cases)", () => {
  const planOf = (parts: unknown[][]): PlanInfo =>
    plan(...parts.map(([target, nodes, costS]) => ({ ...partition(target as string, nodes as number[]), cost_s: costS as number | null })));
  test.each(known.cases)("$name", ({ first, second, regions, moved }) => {
    const found = differenceOf(planOf(first), planOf(second));
    const told = found.regions.map((region) => [region.kind, region.nodes, changeOf(region) === null ? null : Number((changeOf(region) ?? 0).toFixed(9)), isChange(region)]);
    expect(told).toEqual(regions.map(([kind, nodes, changeS, differs]) => [kind, nodes, changeS, differs]));
    expect([...found.moved].sort((a, b) => a - b)).toEqual(moved);
  });
});
