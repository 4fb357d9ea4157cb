// The verdict on the kept run, over the graph: the sentence that the terminal and the report print, too. It stays during a what-if, whose
// plan was not measured, so that the graph keeps its place.

import type { JSX } from "preact";
import { hasEnded } from "../../data/run/ended";
import { isOtherPlan, keptRun } from "../../state/run/run";

export function Verdict(): JSX.Element {
  const kept = keptRun.value;
  const verdict = kept && hasEnded(kept) && kept.plan ? kept.verdict : null;
  const isGood = verdict?.is_good === true && !isOtherPlan.value;
  return <div role="status">{verdict && <p class={isGood ? "verdict good" : "verdict"}>{`${isOtherPlan.value ? "Kept plan: " : ""}${verdict.text}`}</p>}</div>;
}
