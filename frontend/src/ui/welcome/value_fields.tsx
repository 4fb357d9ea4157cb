// A field for the value of each small input of a model: with one it is a constant, folded, and no input any more.

import type { JSX } from "preact";
import type { ValueInput } from "../../data/model/values";

interface Props {
  inputs: readonly ValueInput[];
  typed: Readonly<Record<string, string>>;
  change: (typed: Record<string, string>) => void;
}

export function ValueFields({ inputs, typed, change }: Props): JSX.Element {
  return (
    <>
      {inputs.map(({ name, type }) => (
        <label key={name}>
          {`value of ${name}${type === "" ? "" : ` (${type})`}`}{" "}
          <input type="text" size={10} placeholder="any" value={typed[name] ?? ""} onInput={(event) => change({ ...typed, [name]: event.currentTarget.value })} />
        </label>
      ))}
    </>
  );
}
