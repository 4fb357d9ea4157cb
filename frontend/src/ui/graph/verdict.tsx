// The verdict on the kept run, over the graph: the sentence that the terminal and the report print, too, and the button for what to do next.
// It stays during a what-if, whose plan was not measured, so that the graph keeps its place.

import type { JSX } from "preact";
import { isReport } from "../../data/config";
import { nextStep, type NextStep } from "../../data/plan/next_step";
import { hasEnded } from "../../data/run/ended";
import { showDrawer } from "../../state/display";
import { BASELINE, compare } from "../../state/plan/compare";
import { exporting, isExportOpen } from "../../state/run/export";
import { isActive, isOtherPlan, keptRun } from "../../state/run/run";
import { goOn } from "../../state/run/start";

/** A sentence longer than this is set smaller: it stays on one line, so that the graph keeps its place. */
const LONG_SENTENCE = 90;

export function Verdict(): JSX.Element {
  const kept = keptRun.value;
  const verdict = kept && hasEnded(kept) && kept.plan ? kept.verdict : null;
  const text = `${isOtherPlan.value ? "Kept plan: " : ""}${verdict?.text ?? ""}`;
  const looks = ["verdict", verdict?.is_good === true && !isOtherPlan.value && "good", text.length > LONG_SENTENCE && "long"];
  return (
    <div class="verdict-line">
      <div role="status">
        {verdict && (
          <p class={looks.filter(Boolean).join(" ")} title={text}>
            {text}
          </p>
        )}
      </div>
      {kept && verdict && !isOtherPlan.value && <NextButton step={nextStep(kept)} />}
    </div>
  );
}

function NextButton({ step }: { step: NextStep | null }): JSX.Element | null {
  if (!step || (isReport && step.kind !== "compare")) return null;
  const isOff = step.kind !== "compare" && (isActive.value || exporting.value !== null);
  return (
    <button type="button" class={step.kind === "ship" ? "primary" : undefined} title={step.title} disabled={isOff} onClick={() => take(step)}>
      {step.label}
    </button>
  );
}

function take({ kind, against }: NextStep): void {
  const kept = keptRun.peek();
  if (kind === "ship") isExportOpen.value = true;
  else if (kind === "measure" && kept) void goOn(kept);
  else {
    compare("", BASELINE + against);
    showDrawer("compare");
  }
}
