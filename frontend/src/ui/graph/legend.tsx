// The legend of the present overlay, or the reason why the overlay shows nothing.

import type { ComponentChildren, JSX } from "preact";
import { count, duration } from "../../base/format";
import { doubtOf, LEAST_STABILITY, WIDEST } from "../../data/overlays/certainty";
import { doubt, heat } from "../../data/overlays/ramps";
import { PROFILE } from "../../data/plan/cost_source";
import { hasEnded } from "../../data/run/ended";
import { overlay } from "../../state/display";
import { coverage, coveredTarget } from "../../state/graph/coverage";
import { hottest, nodePaints, theme } from "../../state/graph/painting";
import { styleOf } from "../../state/model/catalogue";
import { againstSide, planDifference, planRef, planSide, sideName } from "../../state/plan/compare";
import { searchPicture } from "../../state/replay/overlay";
import { partitions, run } from "../../state/run/run";
import { table } from "../../state/tables/candidates";
import { LiveLegend } from "./live_legend";
import { ReplayLegend } from "./replay_legend";

export function Legend(): JSX.Element | null {
  const isSearched = overlay.value === "search" || (overlay.value === "target" && searchPicture.value !== null);
  if (isSearched && run.value && !hasEnded(run.value)) return <LiveLegend />;
  if (overlay.value === "target") return null;
  if (!run.value?.plan) return <Note>{run.value && !hasEnded(run.value) ? "Known as soon as there is a plan." : "No plan yet: press Run."}</Note>;
  switch (overlay.value) {
    case "cost":
      return <CostLegend />;
    case "certainty":
      return <CertaintyLegend />;
    case "coverage":
      return <CoverageLegend />;
    case "difference":
      return <DifferenceLegend />;
    case "search":
      return <ReplayLegend />;
  }
}

function Note({ children }: { children: ComponentChildren }): JSX.Element {
  return <p class="legend muted">{children}</p>;
}

function Ramp({ colour }: { colour: (t: number, isDark: boolean) => string }): JSX.Element {
  const isDark = theme.value?.isDark ?? false;
  const stops = [0, 0.1, 0.25, 0.5, 0.75, 1].map((t) => `${colour(t, isDark)} ${t * 100}%`);
  return <span class="ramp" style={{ background: `linear-gradient(to right, ${stops.join(", ")})` }} />;
}

function Swatch({ colour, isHatched = false, children }: { colour: string; isHatched?: boolean; children: ComponentChildren }): JSX.Element {
  return (
    <span class="swatch">
      <span class={isHatched ? "hatched" : undefined} style={{ backgroundColor: colour }} aria-hidden="true" />
      <span>{children}</span>
    </span>
  );
}

/** The ramp of the overlay Cost, with its ends in words. */
function CostLegend(): JSX.Element {
  const { costS, share, isByKernel } = hottest.value;
  return (
    <div class="legend" role="img" aria-label={`Cost of a ${isByKernel ? "node, or of nodes that one kernel computes" : "partition"}, from nothing to ${duration(costS)}`}>
      <span>0</span>
      <Ramp colour={heat} />
      <span>
        {duration(costS)} <span class="muted">{`${Math.round(share * 100)} % of the predicted total`}</span>
      </span>
      {partitions.value.some((one) => one.source === PROFILE) && <span class="muted">≈ estimated from a profile</span>}
    </div>
  );
}

function CertaintyLegend(): JSX.Element {
  const doubts = partitions.value.map(doubtOf);
  const byStability = doubts.some((one) => one.basis === "stability");
  const byInterval = doubts.some((one) => one.basis === "interval");
  const ends = (stable: string, off: string): string => [byStability ? stable : "", byInterval ? off : ""].filter(Boolean).join(", ");
  return (
    <div class="legend">
      {(byStability || byInterval) && (
        <>
          <span>
            sure <span class="muted">{ends("chosen in 100 %", "±0 %")}</span>
          </span>
          <Ramp colour={doubt} />
          <span>
            <span class="muted">{ends(`in ${LEAST_STABILITY * 100} % of searches with varied costs`, `±${WIDEST * 100} % or more`)}</span> unsure
          </span>
        </>
      )}
      {doubts.some((one) => one.isGuess) && (
        <Swatch colour="var(--grey)" isHatched>
          not measured
        </Swatch>
      )}
      {doubts.some((one) => one.basis === "nothing" && !one.isGuess && one.value === null) && <Swatch colour="var(--grey)">its uncertainty is not known</Swatch>}
    </div>
  );
}

function CoverageLegend(): JSX.Element {
  const target = coveredTarget.value;
  const known = coverage.value;
  if (table.value.kind === "failed") return <Note>{table.value.error.message}</Note>;
  if (!target) return <Note>This run has no targets.</Note>;
  if (run.value && !hasEnded(run.value)) return <Note>Known when the run ends.</Note>;
  if (!known) return <Note>Loading the candidates…</Note>;
  const cannot = known.filter((one) => one.kind === "cannot").length;
  const { base } = styleOf(target);
  return (
    <div class="legend">
      <Swatch colour={base}>{target} runs it</Swatch>
      <Swatch colour={`color-mix(in srgb, ${base} 40%, var(--canvas))`}>could take it</Swatch>
      <Swatch colour="var(--grey)" isHatched>
        {cannot === 0 ? "could not: none" : `could not: ${count(cannot)} of ${count(known.length)}`}
      </Swatch>
    </div>
  );
}

function DifferenceLegend(): JSX.Element {
  const [plan, against] = [planSide.value, againstSide.value];
  for (const side of [plan, against]) if (side.kind === "failed") return <Note>{side.error.message}</Note>;
  if (!planDifference.value || plan.kind !== "ready" || against.kind !== "ready") {
    return <Note>{run.value && !hasEnded(run.value) ? "Known when the run ends." : plan.kind === "none" || against.kind === "none" ? "Choose two plans." : "Loading the plans…"}</Note>;
  }
  const { moved, text } = planDifference.value;
  const isShown = nodePaints.value.some((one) => one !== null);
  return (
    <div class="legend">
      <span>
        <b>{text}</b>
      </span>
      {moved.size > 0 && <span>{`${count(moved.size)} ${moved.size === 1 ? "node changes its" : "nodes change their"} target, in the colour of the one in ${sideName(planRef.value, plan.side)}`}</span>}
      {moved.size === 0 && <span>{isShown ? "no node changes its target; the pale ones are cut otherwise" : "both plans have the same partitions"}</span>}
    </div>
  );
}
