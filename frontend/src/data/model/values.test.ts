import { expect, test } from "vitest";
import type { ModelInfo, TensorJson } from "../protocol";
import { valueInputs } from "./values";

const tensor = (name: string, shape: number[], dtype: string): TensorJson => ({ name, shape, dtype });

test("numbers and flags of few elements can be fixed, and what is fixed can be freed", () => {
  const inputs = [tensor("x", [1, 17], "float32"), tensor("sr", [], "int64"), tensor("w", [2, 8], "bfloat16"), tensor("s", [], "string"), tensor("b", [1], "bool")];
  expect(valueInputs({ inputs, values: { rate: "16000" } } as unknown as ModelInfo)).toEqual([
    { name: "rate", type: "", value: "16000" },
    { name: "sr", type: "int64", value: "" },
    { name: "w", type: "bfloat16 2×8", value: "" },
    { name: "b", type: "bool 1", value: "" },
  ]);
});
