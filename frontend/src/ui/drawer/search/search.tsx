// The tab "Search": the progress of a run, and afterwards the replay of its search.

import type { JSX } from "preact";
import { plural } from "../../../base/format";
import type { RunSnapshot } from "../../../data/protocol";
import { isReport } from "../../../data/config";
import { proofText } from "../../../data/plan/proof_text";
import { briefText, keptText, recordedText } from "../../../data/run/progress_text";
import { hasEnded } from "../../../data/run/ended";
import { traceFacts } from "../../../state/replay/player";
import { run } from "../../../state/run/run";
import { runNow } from "../../../state/run/start";
import { ErrorCard } from "../../widgets/error_card";
import { Convergence } from "./convergence";
import { Counts, Now, PhaseLine, Totals } from "./progress";
import { Replay } from "./replay";
import { TossUps } from "./toss_ups";
import { CancelledNote, UndecidedNote } from "./undecided";

/** The status of the run in one line. */
export function RunStatus(): JSX.Element | null {
  const current = run.value;
  if (!current) return null;
  return (
    <span class="search-words muted" title={words(current)}>
      {words(current)}
    </span>
  );
}

function words(current: RunSnapshot): string {
  if (!hasEnded(current)) return briefText(current);
  const measured = current.counts.reduce((sum, one) => sum + one.measured, 0);
  const proved = proofText(current);
  const proof = proved === "" ? "" : `${proved} · `;
  if (current.state !== "done" && current.state !== "recorded") return current.state;
  if (current.state === "recorded" || current.recorded) return proof + recordedText(current);
  return current.base === null ? `${proof}${plural(measured, "computation")} measured` : `${proof}re-planned over known costs`;
}

export function SearchTab(): JSX.Element {
  const current = run.value;
  if (!current) return <p class="muted">No run yet. Press Run: the search is shown here as it happens.</p>;
  const isTraced = traceFacts.value !== null;
  return (
    <div class="search">
      <Stopped run={current} />
      <UndecidedNote run={current} />
      {hasEnded(current) && current.plan && <TossUps />}
      <PhaseLine run={current} />
      {!hasEnded(current) && <Now run={current} />}
      {isTraced && <Replay />}
      <div class="columns">
        {current.convergence.length > 1 && <Convergence curve={current.convergence} nowS={current.now_s} />}
        {(current.best_s !== null || current.considered) && <Totals run={current} />}
        <Counts run={current} />
      </div>
      {!isTraced && hasEnded(current) && current.plan && <Replay />}
    </div>
  );
}

/** Why a run did not finish, what of it is kept, and a button to run again. */
function Stopped({ run: current }: { run: RunSnapshot }): JSX.Element | null {
  const again = !isReport && (
    <button type="button" onClick={() => void runNow()}>
      Run again
    </button>
  );
  if (current.state === "cancelled") {
    if (current.cancelled) return <CancelledNote run={current} cancelled={current.cancelled} />;
    return (
      <div class="note stopped" role="status">
        <span>{`Cancelled. ${keptText(current)}.`}</span>
        {again}
      </div>
    );
  }
  if (!current.error) return null;
  return (
    <ErrorCard error={current.error}>
      {current.state === "failed" && (
        <div class="stopped">
          <span>{`${keptText(current)}.`}</span>
          {again}
        </div>
      )}
    </ErrorCard>
  );
}
