// The dialog before a file is opened that is a program: what it is called, what may happen, and that nothing has happened yet.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { PageError, Shapes } from "../../data/api";
import type { Source } from "../../state/model/model";
import { closeModel, openSource } from "../../state/model/open";
import { forgetOpening } from "../../state/model/typed_shapes";

export function TrustQuestion({ source, shapes, error }: { source: Source; shapes: Shapes; error: PageError }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const isTrusted = useRef(false);
  useEffect(() => dialog.current?.showModal(), []);
  const trust = (): void => {
    isTrusted.current = true;
    dialog.current?.close();
    void openSource(trusted(source), shapes);
  };
  const closed = (): void => {
    if (isTrusted.current) return;
    forgetOpening(source);
    closeModel();
  };
  return (
    <dialog ref={dialog} aria-labelledby="trust-title" onClose={closed}>
      <h2 id="trust-title">Open a program?</h2>
      <p>{error.message}: read, change and send your files, and start other programs.</p>
      <p class="muted">It has not been opened yet. Open it only if you trust its author.</p>
      <div class="pattern-row end">
        <button type="button" autofocus onClick={() => dialog.current?.close()}>
          Cancel
        </button>
        <button type="button" onClick={trust}>
          Open it
        </button>
      </div>
    </dialog>
  );
}

function trusted(source: Source): Source {
  return source.kind === "files" || source.kind === "path" || source.kind === "again" ? { ...source, trust: true } : source;
}
