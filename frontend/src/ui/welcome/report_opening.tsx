// What a report shows before its graph is laid out, or where that failed.

import type { JSX } from "preact";
import { modelState } from "../../state/model/model";
import { ErrorCard } from "../widgets/error_card";

export function ReportOpening(): JSX.Element {
  const state = modelState.value;
  return (
    <main class="welcome" aria-busy={state.kind === "loading"}>
      {state.kind === "failed" ? <ErrorCard error={state.error} /> : <p class="loading">Opening the report…</p>}
    </main>
  );
}
