// The choice of the overlay, with the target of Coverage and the two plans of Difference.

import type { JSX } from "preact";
import { coverageTarget, overlay, type Overlay, OVERLAYS } from "../../state/display";
import { coveredTarget, coverageTargets } from "../../state/graph/coverage";
import { Badge } from "../widgets/badge";
import { Choice } from "../widgets/choice";
import { PlanChoice } from "./plan_choice";

const OVERLAY_NAME: Record<Overlay, string> = { target: "Target", cost: "Cost", certainty: "Certainty", coverage: "Coverage", difference: "Difference", search: "Search" };
const OVERLAY_SAYS: Record<Overlay, string> = {
  target: "The target of each node (t)",
  cost: "The share of each partition in the predicted total (h)",
  certainty: "The certainty of each partition (s)",
  coverage: "The nodes that one target could take, and why it cannot take the others (1 to 9)",
  difference: "The difference from another plan (d)",
  search: "The step of the search that the replay shows ([ and ])",
};

export function OverlayMenu(): JSX.Element {
  return (
    <div class="overlay-menu">
      <Choice
        label="Overlay"
        choices={OVERLAYS.map((id) => ({ id, content: OVERLAY_NAME[id], title: OVERLAY_SAYS[id] }))}
        chosen={overlay.value}
        choose={(id) => (overlay.value = id)}
      />
      {overlay.value === "coverage" && <CoverageTargets />}
      {overlay.value === "difference" && (
        <span class="against">
          <PlanChoice side="plan" /> against <PlanChoice side="against" />
        </span>
      )}
    </div>
  );
}

function CoverageTargets(): JSX.Element | null {
  const targets = coverageTargets.value;
  if (targets.length === 0) return null;
  const badgeAndName = (target: string): JSX.Element => (
    <>
      <Badge target={target} /> {target}
    </>
  );
  return (
    <Choice
      label="Coverage of"
      choices={targets.map((id, i) => ({ id, content: badgeAndName(id), ...(i < 9 && { title: `Key ${i + 1}` }) }))}
      chosen={coveredTarget.value}
      choose={(id) => (coverageTarget.value = id)}
    />
  );
}
