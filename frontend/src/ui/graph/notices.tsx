// Notices over the graph: the server does not answer, or the file of the model has changed or never came.

import type { JSX } from "preact";
import { isReport } from "../../data/config";
import { model } from "../../state/model/model";
import { openSource } from "../../state/model/open";
import { isStale } from "../../state/model/stale";
import { isActive } from "../../state/run/run";
import { connection } from "../../state/run/stream";

export function Notices(): JSX.Element {
  const known = model.value;
  return (
    <div class="notices" role="status">
      {connection.value === "disconnected" && (
        <p class="notice">
          <span>
            <b>Disconnected.</b> The server does not answer; the page shows the last known state. A run goes on as long as its server does, and the page catches up by itself.
          </span>
        </p>
      )}
      {known?.info.refusal && !known.info.refusal.inputs?.length && (
        <p class="notice">
          <span>
            <b>The model can be looked at, and not run.</b> {known.info.refusal.error.message}{known.info.refusal.error.hint !== "" && <span class="muted"> ({known.info.refusal.error.hint})</span>}
          </span>
        </p>
      )}
      {known?.info.is_missing && (
        <p class="notice">
          <span>
            <b>The model came without its file.</b> Runs can be looked at and asked; to run, build or export, open the file with the hash <code>{known.info.id.slice(0, 12)}…</code>
          </span>
        </p>
      )}
      {known && !known.info.is_missing && isStale.value && (
        <p class="notice">
          <span>
            <b>The model's file has changed</b> or is gone since it was opened; the page shows the model as it was.
          </span>
          {!isReport && (
            <button type="button" disabled={isActive.value} onClick={() => void openSource({ kind: "again", id: known.info.id })}>
              Open it anew
            </button>
          )}
        </p>
      )}
    </div>
  );
}
