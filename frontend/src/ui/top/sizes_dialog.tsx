// The dialog before a model with open sizes is planned or run: asks for them, and for the values of small inputs, in one form.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { model } from "../../state/model/model";
import { openWith, sizesAsked } from "../../state/run/start";
import { ShapeForm } from "../welcome/shape_form";
import { ErrorCard } from "../widgets/error_card";

export function SizesDialog(): JSX.Element | null {
  const dialog = useRef<HTMLDialogElement>(null);
  const asked = sizesAsked.value;
  const info = model.value?.info;
  useEffect(() => {
    if (asked && dialog.current?.open === false) dialog.current.showModal();
  }, [asked !== null]);
  if (!asked || !info) return null;
  return (
    <dialog ref={dialog} class="sizes" aria-label="Sizes and values" onClose={() => (sizesAsked.value = null)}>
      {asked.error && <ErrorCard error={asked.error} />}
      <ShapeForm source={{ kind: "again", id: info.id }} inputs={asked.inputs} verb={asked.runs ? "Run" : "Open"} send={(shapes, values) => void openWith(shapes, values)} close={() => dialog.current?.close()} />
    </dialog>
  );
}
