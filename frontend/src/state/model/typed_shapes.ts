// The sizes that the user typed for a model's inputs: those of this opening, and those of an earlier one as a suggestion, by model.

import type { Source } from "./model";

export type Typed = Record<string, readonly string[]>;

const KEY = "collage.shapes.";

/** The text that was typed while a model is being opened, input after input. */
const opening = new Map<string, Typed>();

/** The sizes that were typed for an input before, also in an earlier visit; undefined where there are none. */
export function typedBefore(source: Source, input: string): readonly string[] | undefined {
  return { ...stored(source), ...opening.get(keyOf(source)) }[input];
}

/** Take the sizes of an input, and return those of all inputs that were typed in this opening. */
export function typeShape(source: Source, input: string, sizes: readonly string[]): Typed {
  const all = { ...opening.get(keyOf(source)), [input]: sizes };
  opening.set(keyOf(source), all);
  try {
    localStorage.setItem(KEY + keyOf(source), JSON.stringify({ ...stored(source), ...all }));
  } catch {
    // Without storage they hold until the page is closed.
  }
  return all;
}

/** Begin the opening of a model anew; what was typed stays as a suggestion. */
export function forgetOpening(source: Source): void {
  opening.delete(keyOf(source));
}

function stored(source: Source): Typed {
  try {
    const kept: unknown = JSON.parse(localStorage.getItem(KEY + keyOf(source)) ?? "{}");
    const isList = (value: unknown): value is string[] => Array.isArray(value) && value.every((one) => typeof one === "string");
    return Object.fromEntries(Object.entries(kept ?? {}).filter((entry): entry is [string, string[]] => isList(entry[1])));
  } catch {
    return {};
  }
}

function keyOf(source: Source): string {
  switch (source.kind) {
    case "sample":
      return source.name;
    case "path":
      return source.path;
    case "files":
      return source.files.map((file) => file.name).join(", ");
    case "session":
      return source.file.name;
    case "id":
    case "again":
      return source.id;
  }
}
