// A field for the value of each small input of a model: with one it is a constant, folded, and no input any more.

import type { JSX } from "preact";
import { valueMistake, type ValueInput } from "../../data/model/values";

interface Props {
  inputs: readonly ValueInput[];
  typed: Readonly<Record<string, string>>;
  /** The sizes of an input's dimensions, as they are typed; null where they are not known. */
  shapeOf: (name: string) => readonly number[] | null;
  change: (typed: Record<string, string>) => void;
}

export function ValueFields({ inputs, typed, shapeOf, change }: Props): JSX.Element {
  return (
    <>
      {inputs.map(({ name, type, dtype }) => {
        const text = typed[name] ?? "";
        const mistake = valueMistake(text, dtype, shapeOf(name));
        return (
          <label key={name}>
            {`value of ${name}${type === "" ? "" : ` (${type})`}`}{" "}
            <input type="text" size={10} placeholder="any" aria-invalid={mistake !== ""} value={text} onInput={(event) => change({ ...typed, [name]: event.currentTarget.value })} />
            {mistake !== "" && <span class="bad"> {mistake}</span>}
          </label>
        );
      })}
    </>
  );
}
