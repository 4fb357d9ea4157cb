// The overlays as a row of choices, and what some of them ask: whose coverage, and which two plans differ.

import type { JSX } from "preact";
import { coverageTarget, overlay, type Overlay, OVERLAYS } from "../../state/display";
import { coveredTarget, coverageTargets } from "../../state/graph/coverage";
import { Badge } from "../widgets/badge";
import { Choice } from "../widgets/choice";
import { PlanChoice } from "./plan_choice";

const OVERLAY_NAME: Record<Overlay, string> = { target: "Target", cost: "Cost", certainty: "Certainty", coverage: "Coverage", difference: "Difference", search: "Search" };
const OVERLAY_SAYS: Record<Overlay, string> = {
  target: "Who runs what (t)",
  cost: "Where the time goes (h)",
  certainty: "How sure each part of the plan is (s)",
  coverage: "What one target could take, and why not the rest (1 to 9)",
  difference: "What differs from another plan (d)",
  search: "What the search does at the step of its replay ([ and ])",
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
