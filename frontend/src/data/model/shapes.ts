// The form that asks for the shape of an input, read from the server's answer, and the mistakes in a size. Pure.

import type { ApiError, ModelInfo } from "../protocol";

export interface Dimension {
  /** As the model has it: its symbol, its size where it is fixed, or `?`. */
  label: string;
  /** A likely size, or the size that is fixed. */
  guess: string;
  isFixed: boolean;
}

export interface WantedShape {
  input: string;
  dimensions: readonly Dimension[];
  /** False where the model does not say how many dimensions there are. */
  isRankKnown: boolean;
}

/**
 * The input whose shape the server asks for; null where it asks for none. Its message has the input's dimensions in brackets where
 * the model has any, its hint an example for a shell: `--shape x=1,3,224,224`. Examples for other inputs may follow.
 */
export function wantedShape({ message, hint }: ApiError): WantedShape | null {
  const word = /--shape ((?:'[^']*'|"[^"]*"|[^\s'"])+)/.exec(hint)?.[1] ?? "";
  const example = /^(.*)=([\d,]+)$/s.exec(unquoted(word));
  const [input, sizes] = [example?.[1], example?.[2]?.split(",")];
  if (input === undefined || sizes === undefined) return null;
  const written = /\[([^[\]]*)\] has the dynamic dimension \d/.exec(message)?.[1]?.split(", ");
  return {
    input,
    isRankKnown: written !== undefined,
    dimensions: sizes.map((guess, i) => dimension(written?.length === sizes.length ? (written[i] ?? "?") : "?", guess)),
  };
}

/** A word as a shell reads it. */
function unquoted(word: string): string {
  return word.replace(/'([^']*)'|"([^"]*)"/g, (_, single: string | undefined, double: string | undefined) => single ?? double ?? "");
}

function dimension(label: string, guess: string): Dimension {
  return { label, guess, isFixed: /^\d+$/.test(label) };
}

/** The dimensions of an input of a model that was opened, as its file has them, with the sizes that they were given. */
export function dimensionsOf({ dimensions, inputs }: ModelInfo, input: string): Dimension[] {
  const shape = inputs.find(({ name }) => name === input)?.shape ?? [];
  const labels = dimensions[input] ?? [];
  return shape.map((size, i) => dimension(labels.length === shape.length ? (labels[i] ?? "?") : "?", String(size ?? "")));
}

/** Why a text is no size of a dimension; empty where it is one. */
export function sizeMistake(text: string): string {
  if (text.trim() === "") return "a size is missing";
  const size = Number(text);
  if (!Number.isInteger(size)) return `${text.trim()} is no whole number`;
  return size < 1 ? "a size is at least 1" : "";
}
