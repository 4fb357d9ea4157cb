// The inputs of a model whose value can be fixed: it is then a constant, and folded. Pure.

import type { ModelInfo } from "../protocol";

const MOST_ELEMENTS = 16;
const NUMBERS = /^(bool|u?int(8|16|32|64)|bfloat16|float(16|32|64))$/;

export interface ValueInput {
  name: string;
  /** Its type and shape, where it is an input still. */
  type: string;
  /** Empty where it is free. */
  value: string;
}

/** The inputs that are fixed, then those that are small enough to be. */
export function valueInputs({ inputs, values }: ModelInfo): ValueInput[] {
  const fixed = Object.entries(values ?? {}).map(([name, value]) => ({ name, type: "", value }));
  const small = inputs.filter(({ shape, dtype }) => shape.reduce((size, one) => size * one, 1) <= MOST_ELEMENTS && NUMBERS.test(dtype));
  return [...fixed, ...small.map(({ name, shape, dtype }) => ({ name, type: shape.length > 0 ? `${dtype} ${shape.join("×")}` : dtype, value: "" }))];
}
