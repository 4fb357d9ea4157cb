// What the budget left undecided, with the button that goes on.

import type { JSX } from "preact";
import { elapsed, plural } from "../../../base/format";
import type { RunSnapshot } from "../../../data/protocol";
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
      </div>
      <button type="button" disabled={isActive.value} title="the same run, on the costs that are known, with a new budget" onClick={() => void goOn(run)}>
        Go on
      </button>
    </div>
  );
}
