import { expect, test } from "vitest";
import { partition, twoPlans, twoRegions } from "../../../test/runs";
import { differenceOf } from "./difference";

const plan = { total_s: 3e-3, partitions: [partition("tvm", [0, 1]), partition("openvino", [2])], transitions: [], total_interval_s: null };
const against = { ...plan, partitions: [partition("tvm", [0]), partition("tvm", [1]), partition("tvm", [2])] };

test("the regions of the server hold the partitions of both plans, and are found by their nodes", () => {
  const found = differenceOf(plan, against, twoPlans([twoRegions("moved", [2], ["openvino-2"], ["tvm-2"]), twoRegions("recut", [0, 1], ["tvm-0-1"], ["tvm-0", "tvm-1"])], [2]));
  expect(found.regions.map((region) => [region.plan, region.against].map((parts) => parts.map(({ id }) => id)))).toEqual([
    [["openvino-2"], ["tvm-2"]],
    [["tvm-0-1"], ["tvm-0", "tvm-1"]],
  ]);
  expect(found.regionOf.get(1)).toBe(found.regions[1]);
  expect(found.moved).toEqual(new Set([2]));
  expect(found.text).toBe("+1 ms predicted");
});
