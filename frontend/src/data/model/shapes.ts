// The dimensions of inputs in forms, which of them have one size, and the mistakes in a size. Pure.

import type { ModelInfo, OpenInputJson } from "../protocol";

const FIXED = /^\d+$/;

export interface Dimension {
  /** As the model has it: its symbol, its size where it is fixed, or `?`. */
  label: string;
  /** A likely size, or the size that is fixed. */
  guess: string;
  isFixed: boolean;
}

/** The inputs whose sizes are asked for, or can be said with them: those with a dynamic dimension, or without a known number of them. */
export function sizedInputs(inputs: readonly OpenInputJson[]): OpenInputJson[] {
  return inputs.filter(({ dimensions }) => !dimensions?.every((label) => FIXED.test(label)));
}

/** The dimensions of an input that is asked for, with the proposed sizes. */
export function dimensionsAsked({ dimensions, sizes }: OpenInputJson): Dimension[] {
  return sizes.map((size, i) => dimension(dimensions?.[i] ?? "?", String(size)));
}

export type Sizes = Readonly<Record<string, readonly string[]>>;

/** The sizes after those of one input were typed: dimensions with the symbol of one that was changed get its size, too. */
export function withLinked(inputs: readonly OpenInputJson[], before: Sizes, input: string, typed: readonly string[]): Sizes {
  const labels = new Map(inputs.map(({ name, dimensions }) => [name, dimensions ?? []]));
  const changed = new Map<string, string>();
  typed.forEach((size, i) => {
    const label = labels.get(input)?.[i] ?? "?";
    if (label !== "?" && size !== before[input]?.[i]) changed.set(label, size);
  });
  return Object.fromEntries(Object.entries({ ...before, [input]: typed }).map(([name, sizes]) => [name, sizes.map((size, i) => changed.get(labels.get(name)?.[i] ?? "?") ?? size)]));
}

function dimension(label: string, guess: string): Dimension {
  return { label, guess, isFixed: FIXED.test(label) };
}

/** The dimensions of an input of a model that was opened, as its file has them, with the sizes that they were given. */
export function dimensionsOf({ dimensions, inputs }: ModelInfo, input: string): Dimension[] {
  const shape = inputs.find(({ name }) => name === input)?.shape ?? [];
  const labels = dimensions[input] ?? [];
  return shape.map((size, i) => dimension(labels.length === shape.length ? (labels[i] ?? "?") : "?", String(size ?? "")));
}

/** The dynamic dimensions of a model that was opened, with the sizes to which they were fixed: "batch = 1", "x[1] = 64". */
export function fixedSizes(info: ModelInfo): string[] {
  const texts = info.inputs.flatMap(({ name }) => {
    const isKnown = info.dimensions[name] !== undefined;
    return dimensionsOf(info, name).map(({ label, guess, isFixed }, axis) => (isFixed || !isKnown ? "" : `${label === "?" ? `${name}[${axis}]` : label} = ${guess}`));
  });
  return [...new Set(texts.filter(Boolean))];
}

/** Why a text is no size of a dimension; empty where it is one. */
export function sizeMistake(text: string): string {
  if (text.trim() === "") return "a size is missing";
  const size = Number(text);
  if (!Number.isInteger(size)) return `${text.trim()} is no whole number`;
  return size < 1 ? "a size is at least 1" : "";
}
