// The panel on the right: what the selection is, and why it runs where it does; below, the effect of the last decision.

import type { JSX } from "preact";
import { plural } from "../../base/format";
import { overlay, panelTab } from "../../state/display";
import { compare } from "../../state/plan/compare";
import type { PlanChange } from "../../data/plan/summary";
import { canRedo, canUndo, discard, isDeciding, keep, lastChange, refusal, stepHistory } from "../../state/plan/decisions";
import { runError, whatIf } from "../../state/run/run";
import { ErrorCard } from "../widgets/error_card";
import { Key } from "../widgets/key";
import { Tabs } from "../widgets/tabs";
import { NodePanel } from "./node";
import { ConflictCard } from "./conflict";
import { WhyPanel } from "./why";

export function Panel(): JSX.Element {
  const tabs = [
    { id: "why" as const, label: "Why" },
    { id: "node" as const, label: "What it is" },
  ];
  return (
    <aside class="panel" aria-label="Details">
      <Tabs label="Details" tabs={tabs} chosen={panelTab.value} controls="panel-body" choose={(tab) => (panelTab.value = tab)} />
      <div class="panel-body" id="panel-body" role="tabpanel" tabIndex={0} aria-label={panelTab.value === "why" ? "Why" : "What it is"}>
        {runError.value && (
          <ErrorCard error={runError.value}>
            <button type="button" onClick={() => (runError.value = null)}>
              Dismiss
            </button>
          </ErrorCard>
        )}
        {refusal.value && <ConflictCard refusal={refusal.value} />}
        {panelTab.value === "why" ? <WhyPanel /> : <NodePanel />}
      </div>
      <DecisionBar />
    </aside>
  );
}

/** The changes that the last decision made, in words. */
function Change({ change }: { change: PlanChange | null }): JSX.Element | null {
  if (whatIf.value?.keeps_plan) return <span class="change">What if: nothing changes, since the plan has this already</span>;
  if (!change) return null;
  return (
    <span class="change">
      {whatIf.value && "What if: "}
      {change.text !== "" && <span><b>{change.text}</b>, against the kept plan; </span>}
      {changeText(change.changed.size)}
      {change.changed.size > 0 && <DifferenceLink />}
    </span>
  );
}

/** The effect of the last decision, or of keeping the what-if, with the buttons to keep, discard, undo and redo. */
function DecisionBar(): JSX.Element | null {
  const change = lastChange.value;
  if (!change && !canUndo.value && !canRedo.value && !isDeciding.value) return null;
  return (
    <div class={whatIf.value ? "decision trying" : "decision"} aria-live="polite">
      {isDeciding.value && <span>Re-planning…</span>}
      {!isDeciding.value && <Change change={change} />}
      {whatIf.value && (
        <span class="pair">
          <button type="button" class="primary" disabled={isDeciding.value} title="Keep this plan (k)" onClick={() => void keep()}>
            Keep <Key>k</Key>
          </button>
          <button type="button" disabled={isDeciding.value} title="Back to the kept plan (Esc, when nothing is selected)" onClick={discard}>
            Discard
          </button>
        </span>
      )}
      <span class="spacer" />
      <span class="pair">
      <button type="button" disabled={!canUndo.value || isDeciding.value} title="Undo (u)" onClick={() => stepHistory(-1)}>
        Undo
      </button>
      <button type="button" disabled={!canRedo.value || isDeciding.value} title="Redo (U)" onClick={() => stepHistory(1)}>
        Redo
      </button>
      </span>
    </div>
  );
}

/** A link that shows the difference on the graph. */
function DifferenceLink(): JSX.Element | null {
  if (overlay.value === "difference") return null;
  const show = (): void => {
    compare("", null);
    overlay.value = "difference";
  };
  return (
    <>
      {" "}
      <button type="button" class="link" title={`Colour the graph by the difference from ${whatIf.value ? "the kept plan" : "the plan before"} (d)`} onClick={show}>
        show
      </button>
    </>
  );
}

function changeText(count: number): string {
  return count === 0 ? "no partition changes" : `${plural(count, "partition")} ${count === 1 ? "changes" : "change"}`;
}
