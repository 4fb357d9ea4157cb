// The fields for the shape of an input: one a dimension, with its symbol, and the reason beside a field that is wrong.

import type { JSX } from "preact";
import { sizeMistake, type Dimension } from "../../data/model/shapes";

const OPEN: Dimension = { label: "?", guess: "1", isFixed: false };

interface FieldsProps {
  /** The owner of a dimension, if there are several inputs: "x, "; empty for one. */
  prefix?: string;
  sizes: readonly string[];
  dimensions: readonly Dimension[];
  change: (sizes: string[]) => void;
}

export function DimensionFields({ prefix = "", sizes, dimensions, change }: FieldsProps): JSX.Element {
  return (
    <>
      {sizes.map((size, i) => (
        <Size key={i} name={`${prefix}dimension ${i}`} dimension={dimensions[i] ?? OPEN} size={size} change={(size) => change(sizes.map((one, j) => (j === i ? size : one)))} />
      ))}
    </>
  );
}

function Size({ name, dimension, size, change }: { name: string; dimension: Dimension; size: string; change: (size: string) => void }): JSX.Element {
  const mistake = sizeMistake(size);
  const symbol = dimension.isFixed || dimension.label === "?" ? "" : ` (${dimension.label})`;
  return (
    <label>
      {`${name}${symbol}`}{" "}
      <input type="text" inputMode="numeric" size={6} disabled={dimension.isFixed} aria-invalid={mistake !== ""} value={size} onInput={(event) => change(event.currentTarget.value)} />
      {mistake !== "" && <span class="bad"> {mistake}</span>}
    </label>
  );
}
