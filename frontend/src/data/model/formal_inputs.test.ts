import { expect, test } from "vitest";
import { formalInput, shortName, type FormalInputs } from "./formal_inputs";

const FORMAL: FormalInputs = {
  Conv: { names: ["X", "W", "B"], rest: null },
  "com.microsoft.QLinearConcat": { names: ["Y_scale", "Y_zero_point"], rest: "inputs" },
  Loop: { names: ["M", "cond"], rest: null },
};

test("inputs have the names of the operator's definition, the last of them as often as it is given", () => {
  expect([0, 1, 2].map((index) => formalInput(FORMAL, "Conv", index, "t"))).toEqual(["X", "W", "B"]);
  expect([0, 2, 5].map((index) => formalInput(FORMAL, "com.microsoft.QLinearConcat", index, "t"))).toEqual(["Y_scale", "inputs", "inputs"]);
});

test("an input of an inner graph has the tensor's own short name", () => {
  expect(formalInput(FORMAL, "Loop", 1, "a/b")).toBe("cond");
  expect(formalInput(FORMAL, "Loop", 2, "layer.0/state")).toBe("state");
});

test("an input of an unknown operator has its number alone", () => {
  expect(formalInput(FORMAL, "my.domain.Op", 1, "weight")).toBe("1");
  expect(formalInput(FORMAL, "com.microsoft.Conv", 0, "data")).toBe("0");
});

test("a short name keeps the number of its layer", () => {
  expect(["model.layers.0", "/layers.0/", "a/b", "x", "12", "block/conv2", "0.weight"].map(shortName)).toEqual(["layers.0", "layers.0", "b", "x", "12", "conv2", "weight"]);
});
