import { expect, test } from "vitest";
import type { ModelInfo, OpenInputJson } from "../protocol";
import { dimensionsAsked, dimensionsOf, fixedSizes, sizedInputs, sizeMistake, withLinked } from "./shapes";

const input = (name: string, dimensions: string[] | null, sizes: number[]): OpenInputJson => ({ name, dtype: "float32", dimensions, sizes, is_asked: true, takes_value: false, value: "" });

test("the form has a field for each dimension, by its symbol, with a likely size", () => {
  expect(dimensionsAsked(input("in:0", ["N", "3", "?", "width"], [1, 3, 640, 640]))).toEqual([
    { label: "N", guess: "1", isFixed: false },
    { label: "3", guess: "3", isFixed: true },
    { label: "?", guess: "640", isFixed: false },
    { label: "width", guess: "640", isFixed: false },
  ]);
  expect(dimensionsAsked(input("x", null, [1, 8]))).toEqual([
    { label: "?", guess: "1", isFixed: false },
    { label: "?", guess: "8", isFixed: false },
  ]);
});

test("inputs without a dynamic dimension have no sizes to say", () => {
  const inputs = [input("x", ["N", "4"], [1, 4]), input("rate", [], []), input("w", ["2"], [2]), input("y", null, [1])];
  expect(sizedInputs(inputs).map(({ name }) => name)).toEqual(["x", "y"]);
});

test("dimensions that have one size are typed together", () => {
  const inputs = [input("x", ["x[0] = state[1]", "?"], [1, 256]), input("state", ["2", "x[0] = state[1]", "?"], [2, 1, 256])];
  const before = { x: ["1", "256"], state: ["2", "1", "256"] };
  expect(withLinked(inputs, before, "x", ["4", "512"])).toEqual({ x: ["4", "512"], state: ["2", "4", "256"] });
  expect(withLinked(inputs, before, "state", ["2", "3", "256"])).toEqual({ x: ["3", "256"], state: ["2", "3", "256"] });
  expect(withLinked([input("x", null, [1])], { x: ["1"] }, "x", ["1", "7"])).toEqual({ x: ["1", "7"] });
});

test("a size that is none says why", () => {
  expect(["", " ", "two", "1.5", "0", "-3", "16"].map(sizeMistake)).toEqual([
    "a size is missing",
    "a size is missing",
    "two is no whole number",
    "1.5 is no whole number",
    "a size is at least 1",
    "a size is at least 1",
    "",
  ]);
});

test("a model that was opened keeps the symbols of its dimensions, and which of them are fixed", () => {
  const inputs = [{ name: "x", shape: [1, 64], dtype: "float32" }];
  const of = (dimensions: ModelInfo["dimensions"]): unknown => dimensionsOf({ inputs, dimensions } as unknown as ModelInfo, "x");
  expect(of({ x: ["1", "width"] })).toEqual([
    { label: "1", guess: "1", isFixed: true },
    { label: "width", guess: "64", isFixed: false },
  ]);
  const unknown = ["1", "64"].map((guess) => ({ label: "?", guess, isFixed: false }));
  expect(of({})).toEqual(unknown);
  expect(of({ x: ["1"] })).toEqual(unknown);
});

test("dynamic dimensions that were fixed are named once, with their sizes", () => {
  const inputs = [
    { name: "x", shape: [1, 3, 64], dtype: "float32" },
    { name: "y", shape: [1, 7], dtype: "float32" },
    { name: "z", shape: [2], dtype: "float32" },
  ];
  const dimensions = { x: ["batch", "3", "width"], y: ["batch", "?"] };
  expect(fixedSizes({ inputs, dimensions } as unknown as ModelInfo)).toEqual(["batch = 1", "width = 64", "y[1] = 7"]);
  expect(fixedSizes({ inputs: inputs.slice(1, 2), dimensions: { y: ["1", "7"] } } as unknown as ModelInfo)).toEqual([]);
});
