import { expect, test } from "vitest";
import { livePicture } from "./overlay";

const plan = {
  total_s: 1e-3,
  partitions: [
    { target: "tvm", spans: [0, 1], is_known: true },
    { target: "openvino", spans: [2, 2, 5, 6], is_known: false },
    { target: "tvm", spans: [3, 4], is_known: false },
  ],
};
const doing = { target: "tvm", label: "Conv", spans: [3, 4], since_s: 0, repetition: 1 };

test("while a plan is checked: its candidates, and last, once, the candidate that is tried", () => {
  const shown = livePicture(plan, doing, null);
  expect(shown?.partitions.map(({ target, nodes, source }) => [target, nodes, source])).toEqual([
    ["tvm", [0, 1], ""],
    ["openvino", [2, 5, 6], "bound"],
    ["tvm", [3, 4], "bound"],
  ]);
  expect(shown?.tried).toBe(shown?.partitions.at(-1));
  expect(shown?.isLive).toBe(true);
});

test("a candidate of another plan is shown over this one", () => {
  expect(livePicture(plan, { ...doing, spans: [3, 3] }, null)?.partitions).toHaveLength(4);
  expect(livePicture(null, doing, null)?.partitions).toHaveLength(1);
});

test("during the search: the newest state, and the first node that it leaves open", () => {
  const stand = { states: 9, frontier: 2, covered: 4, nodes: 7, placed: [{ target: "tvm", spans: [0, 1] }, { target: "openvino", spans: [2, 3, 5, 5] }], placed_s: 1e-3, least_s: 2e-3 };
  const shown = livePicture(null, null, stand);
  expect(shown).toMatchObject({ frontier: 4, covered: 4 });
  expect(shown?.partitions.map(({ target, nodes }) => [target, nodes])).toEqual([["tvm", [0, 1]], ["openvino", [2, 3, 5]]]);
  expect(livePicture(null, null, { ...stand, covered: 7 })?.frontier).toBeNull();
});

test("nothing is shown without a run and a trace", () => expect(livePicture(null, null, null)).toBeNull());
