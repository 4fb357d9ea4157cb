// The work that the budget or the user's cancel left undone, with the button that goes on.

import type { JSX } from "preact";
import { elapsed, plural } from "../../../base/format";
import type { CancelledInfo, RunSnapshot } from "../../../data/protocol";
import { isReport } from "../../../data/config";
import { phaseText } from "../../../data/run/progress_text";
import { undecidedOf, undecidedText } from "../../../data/run/undecided";
import { isActive } from "../../../state/run/run";
import { goOn } from "../../../state/run/start";

const SHOWN = 5;

export function UndecidedNote({ run }: { run: RunSnapshot }): JSX.Element | null {
  const { plan, budget } = run;
  const undecided = undecidedOf(run);
  if (!plan || !budget || undecided.length === 0) return null;
  return (
    <div class="note stopped" role="status">
      <div>
        {`After ${elapsed(budget.spent_s)} of measuring, ${plural(undecided.length, "choice is", "choices are")} undecided:`}
        <ul class="undecided">
          {undecided.slice(0, SHOWN).map((one) => (
            <li key={one.partitions.join()}>{undecidedText(one, plan)}</li>
          ))}
          {undecided.length > SHOWN && <li class="muted">{`and ${plural(undecided.length - SHOWN, "other")}`}</li>}
        </ul>
        <span class="muted">To tell two of them apart, both costs must be known better than by that gain: re-timing both does it.</span>
      </div>
      {run.state === "recorded" ? null : <GoOn run={run} />}
    </div>
  );
}

/** The measurements that a cancelled run lacks; its best plan is kept. */
export function CancelledNote({ run, cancelled }: { run: RunSnapshot; cancelled: CancelledInfo }): JSX.Element {
  return (
    <div class="note stopped" role="status">
      <div>
        {`Cancelled while ${phaseText(cancelled.phase)}. The best plan so far is kept. Missing:`}
        <ul class="undecided">
          {cancelled.missing.map((sentence) => (
            <li key={sentence}>{sentence}</li>
          ))}
        </ul>
      </div>
      <GoOn run={run} />
    </div>
  );
}

function GoOn({ run }: { run: RunSnapshot }): JSX.Element | null {
  if (isReport) return null;
  return (
    <button type="button" disabled={isActive.value} title="Run again with a new budget; known costs are kept" onClick={() => void goOn(run)}>
      Go on
    </button>
  );
}
