// In the view "Pins": the field for another accuracy, the costs that are typed in, and what each target brings under such terms.

import type { JSX } from "preact";
import { duration, plural } from "../../base/format";
import { parseAccuracy } from "../../data/plan/terms";
import { targetLines } from "../../data/plan/target_lines";
import { model } from "../../state/model/model";
import { isDeciding, isOtherAccuracy, setAccuracy, terms } from "../../state/plan/decisions";
import { otherTerms } from "../../state/plan/other_terms";
import { accuracyText, run, whatIf } from "../../state/run/run";
import { Badge } from "../widgets/badge";

/** The field for the error that a plan may have; another one is tried at once. */
export function ErrorField(): JSX.Element | null {
  if (!run.value?.plan) return null;
  const isWrong = parseAccuracy(accuracyText.value) === undefined;
  return (
    <form class="typed-cost" onSubmit={(event) => event.preventDefault()}>
      <label>
        {"What if a partition may err by "}
        <input
          type="text"
          size={6}
          inputMode="decimal"
          placeholder={(model.value?.info.accuracy ?? 1e-3).toExponential()}
          aria-invalid={isWrong}
          disabled={isDeciding.value}
          value={accuracyText.value}
          onInput={(event) => (accuracyText.value = event.currentTarget.value)}
          onChange={(event) => void setAccuracy(event.currentTarget.value)}
        />
      </label>
      <p class="bad" role="status">
        {isWrong ? `${JSON.stringify(accuracyText.value.trim())} is no error between 0 and 1: write it like 1e-2` : ""}
      </p>
    </form>
  );
}

/** The gain by each target under another accuracy or a typed cost, as the command line tells it. */
export function Brings(): JSX.Element | null {
  const known = otherTerms.value;
  if (!known || !(isOtherAccuracy.value || Object.keys(terms.value.costs).length > 0)) return null;
  const lines = targetLines(known.targets);
  return (
    <section class="target-group" aria-label="What these terms bring">
      <h3>What these terms bring</h3>
      {known.typed.length > 0 && known.kept_s !== null && whatIf.value && <p>{`The plan of the run would take ${duration(known.kept_s)} with these costs.`}</p>}
      <ul>
        {lines.map(({ target, words }) => (
          <li key={target + words}>
            <Badge target={target} /> {words}
          </li>
        ))}
      </ul>
      {lines.length === 0 && <p class="muted">{`No target comes in or leaves; ${plural(known.targets.length, "target")} looked at.`}</p>}
    </section>
  );
}
