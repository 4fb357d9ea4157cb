// Opens files that the user chooses in a dialog, or drops anywhere on the page: a session, or a model with its external data.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { bytes } from "../../base/format";
import { config } from "../../data/config";
import { openFiles } from "../../state/model/open";

/** A button that opens the file dialog. */
export function FilePicker(): JSX.Element {
  const input = useRef<HTMLInputElement>(null);
  const take = (): void => {
    openFiles([...(input.current?.files ?? [])]);
  };
  return (
    <div class="file-picker">
      <button type="button" onClick={() => input.current?.click()}>
        Choose files…
      </button>
      <input ref={input} type="file" multiple hidden aria-label="Model files" onChange={take} />
      <span class="muted">
        or drop them on the page: the .onnx file with its external data, a Relax module (.json, or .py and .pt2, which are programs and run when they are opened: a question comes first), a .tflite file, or a session (.collage)
        {config.upload_bytes > 0 && `, up to ${bytes(config.upload_bytes)}`}
      </span>
    </div>
  );
}

/** Take files that are dropped anywhere, with a note while they are dragged over the page. */
export function DropZone(): JSX.Element | null {
  const isOver = useSignal(false);
  useEffect(() => {
    const stop = new AbortController();
    const { signal } = stop;
    const hasFiles = (event: DragEvent): boolean => event.dataTransfer?.types.includes("Files") ?? false;
    window.addEventListener(
      "dragover",
      (event) => {
        if (!hasFiles(event)) return;
        event.preventDefault();
        isOver.value = true;
      },
      { signal },
    );
    window.addEventListener("dragleave", (event) => (isOver.value = event.relatedTarget !== null && isOver.value), { signal });
    window.addEventListener(
      "drop",
      (event) => {
        isOver.value = false;
        if (!hasFiles(event)) return;
        event.preventDefault();
        openFiles([...(event.dataTransfer?.files ?? [])]);
      },
      { signal },
    );
    return () => stop.abort();
  }, [isOver]);
  return isOver.value ? (
    <div class="drop-veil" aria-hidden="true">
      Drop the model, and its external data with it, or a session
    </div>
  ) : null;
}
