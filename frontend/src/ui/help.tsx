// The list of all keys, as a dialog.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { config, isReport } from "../data/config";
import { isHelpOpen } from "../state/display";
import { areKeysOn } from "../state/settings";
import { SHORTCUTS } from "./keys";
import { Key } from "./widgets/key";

export function Help(): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const isOpen = isHelpOpen.value;
  useEffect(() => {
    if (isOpen) dialog.current?.showModal();
    else dialog.current?.close();
  }, [isOpen]);
  return (
    <dialog ref={dialog} aria-labelledby="help-title" onClose={() => (isHelpOpen.value = false)}>
      <h2 id="help-title">Keyboard</h2>
      <label class="switch">
        <input type="checkbox" checked={areKeysOn.value} onChange={(event) => (areKeysOn.value = event.currentTarget.checked)} /> Single-key shortcuts
        <span class="muted"> (off: arrows, Enter, Esc and Menu still work)</span>
      </label>
      <dl class="keys">
        {SHORTCUTS.map((one) => (
          <div key={one.shown}>
            <dt>
              <Key>{one.shown}</Key>
            </dt>
            <dd>{one.says}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">Drag or scroll to pan; ctrl and scroll, or pinch, to zoom. Shift and drag selects what it touches; shift or ctrl and click adds or takes away{isReport ? "" : "; right-click decides"}.</p>
      <form method="dialog">
        <span class="muted">{config.version !== "" && `Collage Explorer ${config.version}`}</span>
        <button type="submit" class="primary">
          Close
        </button>
      </form>
    </dialog>
  );
}
