// Asks for the sizes of dynamic dimensions, and for the values of small inputs: one field each, and the reason beside one that is wrong.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Shapes, Values } from "../../data/api";
import { dimensionsAsked, sizedInputs, sizeMistake, withLinked, type Sizes } from "../../data/model/shapes";
import { openValues, valueMistake } from "../../data/model/values";
import type { OpenInputJson } from "../../data/protocol";
import type { Source } from "../../state/model/model";
import { forgetOpening, typedBefore, typeShape } from "../../state/model/typed_shapes";
import { DimensionFields } from "./dimension_fields";
import { ValueFields } from "./value_fields";

interface ShapeFormProps {
  /** The model, whose sizes that were typed before are proposed again. */
  source: Source;
  inputs: readonly OpenInputJson[];
  /** The purpose of the sizes. */
  verb: "Open" | "Run";
  send: (shapes: Shapes, values: Values) => void;
  close: () => void;
}

export function ShapeForm({ source, inputs, verb, send, close }: ShapeFormProps): JSX.Element {
  const sized = sizedInputs(inputs);
  const small = openValues(inputs);
  const sizes = useSignal<Sizes>(proposed(source, sized));
  const values = useSignal<Values>(Object.fromEntries(inputs.filter(({ value }) => value !== "").map(({ name, value }) => [name, value])));
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    // The field or button with which the model was opened is gone, and with it the place of who uses the keyboard.
    form.current?.querySelector<HTMLInputElement>("input:enabled")?.focus();
    sizes.value = proposed(source, sized);
  }, [source, inputs]);
  const shapeOf = (name: string): readonly number[] => inputs.find((one) => one.name === name)?.sizes ?? [];
  const isRight =
    Object.values(sizes.value).flat().every((size) => sizeMistake(size) === "") && small.every(({ name, dtype }) => valueMistake(values.value[name] ?? "", dtype, shapeOf(name)) === "");
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!isRight) return;
    const typed = sized.reduce<Sizes>((all, { name }) => ({ ...all, ...typeShape(source, name, sizes.value[name] ?? []) }), {});
    const said = Object.fromEntries(Object.entries(values.value).filter(([, value]) => value.trim() !== ""));
    send(Object.fromEntries(Object.entries(typed).map(([name, all]) => [name, all.map(Number)])), said);
  };
  const dismiss = (): void => {
    forgetOpening(source);
    close();
  };
  const only = sized.length === 1 ? sized[0] : undefined;
  return (
    <form ref={form} class="note shapes" aria-label={only ? `Shape of ${only.name}` : "Shapes of the inputs"} onSubmit={submit}>
      <p>
        {only ? (
          <>
            The input <b>{only.name}</b> of the model has dynamic dimensions.
          </>
        ) : (
          "Inputs of the model have dynamic dimensions."
        )}{" "}
        Their sizes here are guesses: change them to what you run the model with.{small.length > 0 && " An input whose value you give is a constant; leave the field empty to keep it an input."}
      </p>
      {sized.map((one) => (
        <ShapeOf key={one.name} input={one} isOnly={only !== undefined} sizes={sizes.value[one.name] ?? []} change={(typed) => (sizes.value = withLinked(sized, sizes.value, one.name, typed))} />
      ))}
      <ValueFields inputs={small} typed={values.value} shapeOf={shapeOf} change={(all) => (values.value = all)} />
      <button type="submit" class="primary" disabled={!isRight}>
        {only ? `${verb} with this shape` : `${verb} with these shapes`}
      </button>
      <button type="button" onClick={dismiss}>
        Dismiss
      </button>
    </form>
  );
}

interface ShapeOfProps {
  input: OpenInputJson;
  isOnly: boolean;
  sizes: readonly string[];
  change: (sizes: readonly string[]) => void;
}

/** The fields of one input, and buttons for more or fewer of them where the model does not say how many dimensions it has. */
function ShapeOf({ input, isOnly, sizes, change }: ShapeOfProps): JSX.Element {
  const fields = (
    <>
      <DimensionFields prefix={isOnly ? "" : `${input.name}, `} sizes={sizes} dimensions={dimensionsAsked(input)} change={change} />
      {input.dimensions === null && (
        <>
          <button type="button" onClick={() => change([...sizes, "1"])}>
            One dimension more
          </button>
          <button type="button" disabled={sizes.length <= 1} onClick={() => change(sizes.slice(0, -1))}>
            One less
          </button>
        </>
      )}
    </>
  );
  if (isOnly) return fields;
  return (
    <fieldset>
      <legend>{input.name}</legend>
      {fields}
    </fieldset>
  );
}

/** The sizes that were typed before, where they fit the model; else those that the server proposes. */
function proposed(source: Source, inputs: readonly OpenInputJson[]): Sizes {
  return Object.fromEntries(
    inputs.map((one) => {
      const before = typedBefore(source, one.name);
      const guesses = dimensionsAsked(one);
      if (before && one.dimensions === null) return [one.name, before];
      const isSame = before?.length === guesses.length;
      return [one.name, guesses.map(({ guess, isFixed }, i) => (isFixed || !isSame ? guess : (before[i] ?? guess)))];
    }),
  );
}
