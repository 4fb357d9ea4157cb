// The inputs of a model whose value can be fixed: it is then a constant, and folded. Pure.

import { plural } from "../../base/format";
import type { ModelInfo, OpenInputJson } from "../protocol";

const MOST_ELEMENTS = 16;
const NUMBERS = /^(bool|u?int(8|16|32|64)|bfloat16|float(16|32|64))$/;

export interface ValueInput {
  name: string;
  /** Its type and shape, where it is an input still. */
  type: string;
  /** Empty where it is free. */
  value: string;
  /** Empty where it is no input any more. */
  dtype: string;
}

/** The inputs that are fixed, then those that are small enough to be. */
export function valueInputs({ inputs, values }: ModelInfo): ValueInput[] {
  const fixed = Object.entries(values ?? {}).map(([name, value]) => ({ name, type: "", value, dtype: "" }));
  const small = inputs.filter(({ shape, dtype }) => shape.reduce<number>((size, one) => size * (one ?? Infinity), 1) <= MOST_ELEMENTS && NUMBERS.test(dtype));
  return [...fixed, ...small.map(({ name, shape, dtype }) => ({ name, type: shape.length > 0 ? `${dtype} ${shape.join("×")}` : dtype, value: "", dtype }))];
}

/** The inputs whose value can be said when the model is opened. */
export function openValues(inputs: readonly OpenInputJson[]): ValueInput[] {
  return inputs.filter((one) => one.takes_value).map(({ name, dtype, sizes }) => ({ name, type: sizes.length > 0 ? `${dtype} ${sizes.join("×")}` : dtype, value: "", dtype }));
}

const FLAG = /^(true|false|0|1)$/i;
const LARGEST: Readonly<Record<string, number>> = { float16: 65504, bfloat16: 3.39e38, float32: 3.4029e38 };

/**
 * Why a text is no value of an input; empty where it is one, or none at all. `shape` are the sizes typed for the input; null where they
 * are not known. The server is stricter only where the type is not known.
 */
export function valueMistake(text: string, dtype: string, shape: readonly number[] | null): string {
  if (text.trim() === "") return "";
  const parts = text.split(",").map((part) => part.trim());
  const size = shape?.reduce((product, one) => product * one, 1) ?? parts.length;
  const wrong = parts.map((part) => partMistake(part, dtype)).find((mistake) => mistake !== "");
  if (wrong !== undefined) return wrong;
  return parts.length === size ? "" : `${plural(parts.length, "element")}, its shape wants ${size}`;
}

function partMistake(part: string, dtype: string): string {
  if (part === "") return "a number is missing";
  if (dtype === "bool") return FLAG.test(part) ? "" : `${part} is neither true nor false`;
  const [, unsigned, bits] = /^(u?)int(\d+)$/.exec(dtype) ?? [];
  if (bits !== undefined) return wholeMistake(part, BigInt(bits), unsigned === "u");
  if (dtype === "" && FLAG.test(part)) return "";
  const real = Number(part);
  return Number.isFinite(real) && Math.abs(real) <= (LARGEST[dtype] ?? Infinity) ? "" : `${part} is no number${dtype === "" ? "" : ` of ${dtype}`}`;
}

function wholeMistake(part: string, bits: bigint, isUnsigned: boolean): string {
  const least = isUnsigned ? 0n : -(1n << (bits - 1n));
  const most = (1n << (isUnsigned ? bits : bits - 1n)) - 1n;
  if (!/^[+-]?\d+$/.test(part)) return `${part} is no whole number`;
  const size = BigInt(part.replace("+", ""));
  return size >= least && size <= most ? "" : `${part} is not within ${least} and ${most}`;
}
