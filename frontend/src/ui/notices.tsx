// What is not as it should be, over the graph: the server does not answer, or the model's file is another one by now.

import type { JSX } from "preact";
import { isActive } from "../state/run";
import { model, openSource } from "../state/model";
import { isStale } from "../state/stale";
import { connection } from "../stream";

export function Notices(): JSX.Element {
  const known = model.value;
  return (
    <div class="over notices" role="status">
      {connection.value === "disconnected" && (
        <p class="notice">
          <b>Disconnected.</b> The server does not answer. What is shown is the last that was heard; a run goes on as long as its server lives, and the page catches up by itself.
        </p>
      )}
      {known && isStale.value && (
        <p class="notice">
          <span>
            <b>The model's file has changed</b> since it was opened, or is gone. What is shown is the model as it was.
          </span>
          <button type="button" disabled={isActive.value} onClick={() => void openSource({ kind: "again", id: known.info.id })}>
            Open it anew
          </button>
        </p>
      )}
    </div>
  );
}
