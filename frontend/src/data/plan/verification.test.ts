import { expect, test } from "vitest";
import { errorsOf, isRight, largestError } from "./verification";

const VERIFY = { measured_s: 2e-3, additive_error_s: 1e-4, max_rel_error: 1e-6, accuracy: 1e-3, reference: "onnxruntime", errors: {}, interval_s: null, explained_s: null, apart: false, gap: "" };

test("a plan is right within its accuracy", () => {
  expect(isRight(VERIFY)).toBe(true);
  expect(isRight({ ...VERIFY, max_rel_error: 0.1 })).toBe(false);
  expect(isRight({ ...VERIFY, max_rel_error: 0.1, accuracy: null })).toBe(true);
});

test("a plan with an infinite error is wrong, and one that was not compared is neither right nor wrong", () => {
  const infinite = { ...VERIFY, max_rel_error: null };
  expect([largestError(infinite), isRight(infinite)]).toEqual([Infinity, false]);
  const nothing = { ...infinite, measured_s: null };
  expect([largestError(nothing), isRight(nothing)]).toEqual([null, null]);
  expect([largestError(null), isRight(null)]).toEqual([null, null]);
});

test("the worst output comes first, whatever its name is", () => {
  expect(errorsOf({ errors: { 12: 1e-7, 7: 1e-3, y: null, x: 0 } })).toEqual([["y", Infinity], ["7", 1e-3], ["12", 1e-7], ["x", 0]]);
});
