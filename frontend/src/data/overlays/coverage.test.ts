import { expect, test } from "vitest";
import { invalid, row, tableOf } from "../../../test/candidates";
import { coverageOf } from "./coverage";

const TABLE = tableOf(
  [row("a", "tvm", [0, 1]), row("b", "tvm", [2, 2], { cost: invalid("import", "no LSTM") }), row("c", "openvino", [0, 3]), row("d", "tvm", [1, 3], { cost: invalid("numerics", "it errs") })],
  [
    { target: "tvm", rule: "op_predicate", spans: [0, 4], stage: "validity", reason: "two exits", pattern: "" },
    { target: "openvino", rule: "op_predicate", spans: [4, 4], stage: "predicate", reason: "no float16", pattern: "" },
  ],
);

test("a node is covered by any usable candidate; else the reason given for the fewest nodes is shown", () => {
  const tvm = coverageOf("tvm", TABLE, 6);
  expect(tvm.map(({ kind }) => kind)).toEqual(["takes", "takes", "cannot", "cannot", "cannot", "cannot"]);
  expect(tvm[2]).toEqual({ kind: "cannot", stage: "import", reason: "no LSTM" });
  expect(tvm[3]).toEqual({ kind: "cannot", stage: "numerics", reason: "it errs" });
  expect(tvm[4]).toEqual({ kind: "cannot", stage: "validity", reason: "two exits" });
  expect(tvm[5]).toEqual({ kind: "cannot", stage: "pattern", reason: "no rule made a candidate that holds it" });
});

test("another target's candidates and refusals are its own", () => {
  const openvino = coverageOf("openvino", TABLE, 5);
  expect(openvino.slice(0, 4).every(({ kind }) => kind === "takes")).toBe(true);
  expect(openvino[4]).toEqual({ kind: "cannot", stage: "predicate", reason: "no float16" });
});
