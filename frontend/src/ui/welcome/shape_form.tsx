// Asks for the shape of an input with dynamic dimensions: one field a dimension, and the reason beside a field that is wrong.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { sizeMistake, type WantedShape } from "../../data/model/shapes";
import type { Source } from "../../state/model/model";
import { closeModel, openSource } from "../../state/model/open";
import { forgetOpening, typedBefore, typeShape } from "../../state/model/typed_shapes";
import { DimensionFields } from "./dimension_fields";

export function ShapeForm({ source, wanted: { input, dimensions, isRankKnown } }: { source: Source; wanted: WantedShape }): JSX.Element {
  const guesses = dimensions.map((one) => one.guess);
  const sizes = useSignal<readonly string[]>(guesses);
  const form = useRef<HTMLFormElement>(null);
  useEffect(() => {
    // The field or button with which the model was opened is gone, and with it the place of who uses the keyboard.
    form.current?.querySelector<HTMLInputElement>("input:enabled")?.focus();
    const before = typedBefore(source, input);
    sizes.value = before && !isRankKnown ? before : before?.length === dimensions.length ? dimensions.map((one, i) => (one.isFixed ? one.guess : (before[i] ?? one.guess))) : guesses;
  }, [source, input]);
  const isRight = sizes.value.every((size) => sizeMistake(size) === "");
  const open = (event: Event): void => {
    event.preventDefault();
    if (!isRight) return;
    const typed = Object.entries(typeShape(source, input, sizes.value));
    void openSource(source, Object.fromEntries(typed.map(([name, all]) => [name, all.map(Number)])));
  };
  const close = (): void => {
    forgetOpening(source);
    closeModel();
  };
  return (
    <form ref={form} class="note shapes" aria-label={`Shape of ${input}`} onSubmit={open}>
      <p>
        The input <b>{input}</b> of the model has dynamic dimensions. Their sizes here are guesses: change them to what you run the model with.
      </p>
      <DimensionFields sizes={sizes.value} dimensions={dimensions} change={(all) => (sizes.value = all)} />
      {!isRankKnown && (
        <>
          <button type="button" onClick={() => (sizes.value = [...sizes.value, "1"])}>
            One dimension more
          </button>
          <button type="button" disabled={sizes.value.length <= 1} onClick={() => (sizes.value = sizes.value.slice(0, -1))}>
            One less
          </button>
        </>
      )}
      <button type="submit" class="primary" disabled={!isRight}>
        Open with this shape
      </button>
      <button type="button" onClick={close}>
        Dismiss
      </button>
    </form>
  );
}
