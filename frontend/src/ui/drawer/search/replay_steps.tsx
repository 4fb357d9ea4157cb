// The steps around the shown one, in a few words each; a click goes to a step.

import type { JSX } from "preact";
import { briefStepText } from "../../../data/replay/text";
import { frameNear, goToStep, replayStep } from "../../../state/replay/player";
import { Badge } from "../../widgets/badge";

const BEFORE = 2;
const AFTER = 2;

export function StepsAround({ steps }: { steps: number }): JSX.Element {
  const first = Math.max(0, Math.min(replayStep.value - BEFORE, steps - 1 - BEFORE - AFTER));
  const indices = Array.from({ length: Math.min(steps, BEFORE + AFTER + 1) }, (_, i) => first + i);
  return (
    <ol class="replay-steps" aria-label="Steps around">
      {indices.map((index) => (
        <li key={index}>
          <Step index={index} />
        </li>
      ))}
    </ol>
  );
}

function Step({ index }: { index: number }): JSX.Element {
  const shown = frameNear(index);
  return (
    <button type="button" class="row" aria-current={index === replayStep.value ? "step" : undefined} onClick={() => goToStep(index)}>
      <span class="muted">{index + 1}</span>
      <span>{shown?.candidate && <Badge target={shown.candidate.target} />}</span>
      <span class={shown?.kind === "refused" ? "muted" : undefined}>{shown ? briefStepText(shown) : "…"}</span>
    </button>
  );
}
