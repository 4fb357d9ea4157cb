// A button that copies a text to the clipboard.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { copyText } from "../../state/download";

/** The button, with a note on whether copying worked. */
export function CopyButton({ text, label }: { text: string; label: string }): JSX.Element {
  const said = useSignal("");
  const copy = async (): Promise<void> => {
    said.value = (await copyText(text)) ? "copied" : "could not be copied";
  };
  return (
    <>
      <button type="button" onClick={() => void copy()} aria-label={label}>
        Copy
      </button>
      <span class="muted" role="status">
        {said.value}
      </span>
    </>
  );
}
