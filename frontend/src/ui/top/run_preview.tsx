// The cost of a run before it begins, beside its button: builds and time; and the field for its budget.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { count, elapsed, plural } from "../../base/format";
import type { DryRun } from "../../data/protocol";
import { askDryRun, dryRun } from "../../state/run/dry_run";
import { changeForm, form, problems } from "../../state/run/options";
import { Popover } from "../widgets/popover";

export function RunPreview(): JSX.Element {
  const known = dryRun.value?.dryRun ?? null;
  const isBusy = known !== null && known.busy !== "";
  return (
    <Popover content={
        <>
          <span aria-hidden="true">{isBusy ? "⚠" : "◷"}</span> <span class="preview-words">{known ? `about ${elapsed(known.seconds_expected + known.tuning_s + known.after_expected_s)}${isBusy ? ", " : ""}` : "how long?"}</span>
          {isBusy && "busy"}
        </>
      } label="What a run takes" class={`plain run-preview${isBusy ? " warn" : ""}`}>
      {() => <Preview />}
    </Popover>
  );
}

function Preview(): JSX.Element {
  const known = dryRun.value;
  const asked = known !== null;
  useEffect(() => {
    if (!asked) void askDryRun();
  }, [asked]);
  return known?.dryRun ? <Answer dryRun={known.dryRun} /> : <p class="muted">{known ? `Not known: ${known.reason}.` : "Looking at what is to be measured…"}</p>;
}

/** The time to the answer of the next run. */
export function BudgetField(): JSX.Element {
  const wrong = problems.value.get("budget_s");
  const byDefault = dryRun.value?.dryRun?.budget_s;
  return (
    <label class="accuracy budget" title={wrong ?? "Seconds until the answer, with building and timing whole plans; a small model takes less by itself"}>
      <span class="word">budget, s </span>
      <input
        type="text"
        size={4}
        inputMode="decimal"
        aria-label="time budget of the next run in seconds"
        aria-invalid={wrong !== undefined}
        placeholder={`${byDefault ? Math.round(byDefault) : 45} s`}
        value={form.value.budget}
        onInput={(event) => changeForm({ budget: event.currentTarget.value })}
      />
    </label>
  );
}

function Answer({ dryRun: known }: { dryRun: DryRun }): JSX.Element {
  const more = known.builds_at_most > known.builds_expected ? `, ${count(known.builds_at_most)} at most` : "";
  const time = [`about ${elapsed(known.seconds_expected)}`, atMost(known.seconds_expected, known.seconds_at_most)].filter(Boolean).join(", ");
  const after = [`about ${elapsed(known.after_expected_s)} after that`, atMost(known.after_expected_s, known.after_at_most_s)].filter(Boolean).join(", ");
  const bound = known.budget_s === null ? "" : "; the budget ends it, with the best plan by then";
  return (
    <>
      <p>{`About ${plural(known.builds_expected, "build")}${more}; measuring takes ${time}${bound}.`}</p>
      {known.tuning_s > 0 && <p>{`Tuning takes ${elapsed(known.tuning_s)} at most, on top of that.`}</p>}
      {known.after_at_most_s > 0 && <p>{`Building and timing whole plans takes ${after}.`}</p>}
      {known.busy !== "" && <p class="warn">{`${known.busy.charAt(0).toUpperCase()}${known.busy.slice(1)}: what is measured now may be too high, and unsteady.`}</p>}
      <p class="muted">{`${known.basis}.`}</p>
    </>
  );
}

/** The longest time beside the expected one; empty where both read alike. */
function atMost(expectedS: number, mostS: number): string {
  return elapsed(mostS) === elapsed(expectedS) ? "" : `${elapsed(mostS)} at most`;
}
