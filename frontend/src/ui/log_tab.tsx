// The run's notes and its error, in order.

import type { JSX } from "preact";
import { run } from "../state/run";
import { ErrorCard } from "./parts";

export function LogTab(): JSX.Element {
  const current = run.value;
  if (!current) return <p class="muted">No run yet.</p>;
  return (
    <>
      {current.error && <ErrorCard error={current.error} />}
      <ol class="log">
        {current.notes.map((note, i) => (
          <li key={i}>{note}</li>
        ))}
      </ol>
      {current.notes.length === 0 && !current.error && <p class="muted">Nothing to report.</p>}
      <p class="muted">{`Run ${current.id} of ${current.created.replace("T", " ").slice(0, 16)} on ${current.machine || "an unnamed machine"}`}</p>
    </>
  );
}
