// The section "What is undecided?" of the tab "Search": toss-ups, rivals and what would decide them, with the button that measures on.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { plural } from "../../../base/format";
import { isReport } from "../../../data/config";
import type { RunUndecided } from "../../../data/protocol";
import { rivalText, theseText, tossUpLines } from "../../../data/run/undecided";
import { askUndecided, decidedText, decidingError, isLookingUp, measureUndecided, measuringOn, stopMeasuringOn, undecided } from "../../../state/run/deciding";
import { cannotMeasure } from "../../../state/run/remeasuring";
import { ErrorCard } from "../../widgets/error_card";

const SHOWN = 8;
const MOST_S = 3600;

export function TossUps(): JSX.Element {
  const found = undecided.value;
  return (
    <section class="toss-ups" aria-label="What is undecided">
      {!found && (
        <button type="button" disabled={isLookingUp.value} title="Partitions that would change if costs moved within their intervals, and what would decide them; nothing is measured" onClick={() => void askUndecided()}>
          {isLookingUp.value ? "Searching with varied costs…" : "What is undecided?"}
        </button>
      )}
      {decidedText.value !== "" && <p role="status">{decidedText.value}</p>}
      {decidingError.value && <ErrorCard error={decidingError.value} />}
      {found && <Answer found={found} />}
    </section>
  );
}

function Answer({ found }: { found: RunUndecided }): JSX.Element {
  if (!found.is_measured) return <p role="status">No cost of this run has an interval, so the page cannot tell what is undecided.</p>;
  return (
    <div role="status">
      {tossUpLines(found).map((line) => (
        <p key={line}>{line}</p>
      ))}
      {found.rivals.length === 0 && <p>Nothing that could gain more than 1 % of the total is undecided.</p>}
      <ul class="undecided">
        {found.rivals.slice(0, SHOWN).map((one) => (
          <li key={rivalText(one)}>{rivalText(one)}</li>
        ))}
        {found.rivals.length > SHOWN && <li class="muted">{`and ${plural(found.rivals.length - SHOWN, "other")}`}</li>}
      </ul>
      {found.rivals.length > 0 && !isReport && <MeasureOn found={found} />}
    </div>
  );
}

/** The button "Measure these two for 20 s more", with its seconds to change. */
function MeasureOn({ found }: { found: RunUndecided }): JSX.Element {
  const seconds = useSignal(String(Math.max(1, Math.round(found.seconds))));
  if (measuringOn.value) {
    return (
      <p>
        {`Measuring on: ${measuringOn.value.phase}… `}
        <button type="button" onClick={() => void stopMeasuringOn()}>
          Stop
        </button>
      </p>
    );
  }
  const value = Number(seconds.value);
  const isWrong = !(value > 0 && value <= MOST_S);
  const these = found.rivals.length === 1 ? theseText(found.rivals[0]?.needs.computations ?? 0) : "these";
  const submit = (event: Event): void => {
    event.preventDefault();
    if (!isWrong) void measureUndecided(value);
  };
  return (
    <form class="typed-cost" onSubmit={submit}>
      <label>
        seconds <input type="text" size={5} inputMode="decimal" aria-invalid={isWrong} value={seconds.value} onInput={(event) => (seconds.value = event.currentTarget.value)} />
      </label>
      <button type="submit" disabled={isWrong || cannotMeasure.value !== null}>
        {`Measure ${these} for ${isWrong ? "…" : value} s more`}
      </button>
      <p class={isWrong ? "bad" : "muted"} role="status">
        {isWrong ? `${JSON.stringify(seconds.value)} is no time to measure: give seconds, up to ${MOST_S}` : (cannotMeasure.value ?? "")}
      </p>
    </form>
  );
}
