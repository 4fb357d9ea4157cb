// The choice of what the graph is coloured by, with the target of Coverage and the two plans of Difference.

import type { JSX } from "preact";
import { coverageTarget, overlay, type Overlay } from "../../state/display";
import { coveredTarget, coverageTargets } from "../../state/graph/coverage";
import { Badge } from "../widgets/badge";
import { Choice } from "../widgets/choice";
import { PlanChoice } from "./plan_choice";

const NAME: Record<Overlay, string> = { target: "Target", cost: "Cost", certainty: "Certainty", coverage: "Coverage", difference: "Difference", search: "Search" };

/** The overlays with a button of their own, and those that answer rarer questions. */
const [FIRST, RARER] = [["target", "cost"] as const, ["certainty", "coverage", "difference", "search"] as const];
const SAYS = {
  target: "Colour each node by its target (t)",
  cost: "Colour by cost, the dearest darkest (h)",
  certainty: "Certainty: how sure is each partition (s)",
  coverage: "Coverage: what one target could take (1 to 9)",
  difference: "Difference: what another plan has elsewhere (d)",
  search: "Search: how the plan was found ([ and ])",
};

export function OverlayMenu(): JSX.Element {
  const first = FIRST.find((id) => id === overlay.value) ?? null;
  const rarer = RARER.find((id) => id === overlay.value);
  return (
    <div class="overlay-menu">
      <div class="colours">
        <Choice label="Colour by" choices={FIRST.map((id) => ({ id, content: NAME[id], title: SAYS[id] }))} chosen={first} choose={(id) => (overlay.value = id)} />
        <select class={rarer ? "chosen" : undefined} aria-label="More colours" title="More colours" value={rarer ?? ""} onChange={(event) => (overlay.value = event.currentTarget.value as Overlay)}>
          <option value="" disabled hidden>
            More
          </option>
          {RARER.map((id) => (
            <option key={id} value={id}>
              {rarer === id ? NAME[id] : SAYS[id]}
            </option>
          ))}
        </select>
      </div>
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
