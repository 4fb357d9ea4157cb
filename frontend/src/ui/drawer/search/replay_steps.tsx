// The steps around the one that one looks at, in a few words each; a click goes there.

import type { JSX } from "preact";
import { brief } from "../../../data/replay/text";
import { frameNear, goTo, step } from "../../../state/replay/player";
import { Badge } from "../../widgets/badge";

const BEFORE = 2;
const AFTER = 2;

export function StepsAround({ steps }: { steps: number }): JSX.Element {
  const first = Math.max(0, Math.min(step.value - BEFORE, steps - 1 - BEFORE - AFTER));
  const places = Array.from({ length: Math.min(steps, BEFORE + AFTER + 1) }, (_, i) => first + i);
  return (
    <ol class="replay-steps" aria-label="Steps around">
      {places.map((place) => (
        <li key={place}>
          <Step place={place} />
        </li>
      ))}
    </ol>
  );
}

function Step({ place }: { place: number }): JSX.Element {
  const shown = frameNear(place);
  return (
    <button type="button" class="row" aria-current={place === step.value ? "step" : undefined} onClick={() => goTo(place)}>
      <span class="muted">{place + 1}</span>
      <span>{shown?.candidate && <Badge target={shown.candidate.target} />}</span>
      <span class={shown?.kind === "refused" ? "muted" : undefined}>{shown ? brief(shown) : "…"}</span>
    </button>
  );
}
