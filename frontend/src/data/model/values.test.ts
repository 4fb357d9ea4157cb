import { expect, test } from "vitest";
import type { ModelInfo, TensorInfo } from "../protocol";
import { valueInputs, valueMistake } from "./values";

const tensor = (name: string, shape: number[], dtype: string): TensorInfo => ({ name, shape, dtype });

test("numbers and flags of few elements can be fixed, and what is fixed can be freed", () => {
  const inputs = [tensor("x", [1, 17], "float32"), tensor("sr", [], "int64"), tensor("w", [2, 8], "bfloat16"), tensor("s", [], "string"), tensor("b", [1], "bool")];
  expect(valueInputs({ inputs, values: { rate: "16000" } } as unknown as ModelInfo)).toEqual([
    { name: "rate", type: "", value: "16000", dtype: "" },
    { name: "sr", type: "int64", value: "", dtype: "int64" },
    { name: "w", type: "bfloat16 2×8", value: "", dtype: "bfloat16" },
    { name: "b", type: "bool 1", value: "", dtype: "bool" },
  ]);
});

test.each([
  ["", "int64", [], ""],
  ["16000", "int64", [], ""],
  [" 0.5 , 1", "float32", [2], ""],
  ["TRUE", "bool", [1], ""],
  ["-128", "int8", [], ""],
  ["9223372036854775807", "int64", [], ""],
  ["true", "", null, ""],
  ["1,2,3", "", null, ""],
  ["fast", "int16", [], "fast is no whole number"],
  ["1.5", "uint8", [], "1.5 is no whole number"],
  ["256", "uint8", [], "256 is not within 0 and 255"],
  ["9223372036854775808", "int64", [], "9223372036854775808 is not within -9223372036854775808 and 9223372036854775807"],
  ["yes", "bool", [], "yes is neither true nor false"],
  ["70000", "float16", [], "70000 is no number of float16"],
  ["nan", "float32", [], "nan is no number of float32"],
  ["1,,2", "float32", [3], "a number is missing"],
  ["fast", "", null, "fast is no number"],
  ["1", "int64", [2, 1], "1 element, its shape wants 2"],
  ["1,2", "int64", [], "2 elements, its shape wants 1"],
])("a value that is none says why: %s of %s", (text, dtype, shape, mistake) => expect(valueMistake(text, dtype, shape)).toBe(mistake));
