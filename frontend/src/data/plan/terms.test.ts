import { expect, test } from "vitest";
import { runSnapshot } from "../../../test/runs";
import { pinNodes } from "./constraints";
import { areEqual, NO_TERMS, parseAccuracy, requestOf, termsOf } from "./terms";

test.each([
  ["", null],
  ["1e-3", 1e-3],
  [" 0.02 ", 0.02],
  ["2", undefined],
  ["-1", undefined],
  ["tight", undefined],
])("the accuracy %j is read as %s", (text, value) => expect(parseAccuracy(text)).toBe(value));

test("the terms of a run make the request that the run was started with", () => {
  const counts = ["tvm", "onnxruntime", "openvino"].map((name) => ({ name })) as unknown as ReturnType<typeof runSnapshot>["counts"];
  const run = runSnapshot({ counts, targets: ["tvm", "openvino"], constraints: [pinNodes(["n0"], "tvm")], accuracy: 1e-5, costs: { c0: 1e-3 } });
  const terms = termsOf(run);
  expect(terms).toEqual({ groups: [[pinNodes(["n0"], "tvm")]], off: ["onnxruntime"], accuracy: "0.00001", costs: { c0: 1e-3 } });
  expect(requestOf(run, terms)).toEqual({ targets: run.targets, constraints: run.constraints, groups: [[0]], accuracy: 1e-5, costs: { c0: 1e-3 } });
  expect([areEqual(terms, termsOf(run)), areEqual(terms, NO_TERMS)]).toEqual([true, false]);
});
