// The panel on the right: why, the node itself, the pins; under it what the last decision did.

import type { JSX } from "preact";
import { difference, plural } from "../format";
import { canRedo, canUndo, constraints, isDeciding, lastChange, refusal, step } from "../state/decisions";
import { runError } from "../state/run";
import { panelTab } from "../state/selection";
import { NodePanel } from "./node_panel";
import { ErrorCard, Tabs } from "./parts";
import { ConflictCard, PinsPanel } from "./pins_panel";
import { WhyPanel } from "./why_panel";

export function Panel(): JSX.Element {
  const pins = constraints.value.length;
  const tabs = [
    { id: "why", label: "Why" },
    { id: "node", label: "Node" },
    { id: "pins", label: "Pins", ...(pins > 0 && { note: String(pins) }) },
  ] as const;
  return (
    <aside class="panel" aria-label="Details">
      <Tabs label="Details" tabs={tabs} chosen={panelTab.value} controls="panel-body" choose={(tab) => (panelTab.value = tab)} />
      <div class="panel-body" id="panel-body" role="tabpanel" tabIndex={0} aria-label={panelTab.value}>
        {runError.value && (
          <ErrorCard error={runError.value}>
            <button type="button" onClick={() => (runError.value = null)}>
              Dismiss
            </button>
          </ErrorCard>
        )}
        {refusal.value && <ConflictCard refusal={refusal.value} />}
        {panelTab.value === "why" && <WhyPanel />}
        {panelTab.value === "node" && <NodePanel />}
        {panelTab.value === "pins" && <PinsPanel />}
      </div>
      <DecisionBar />
    </aside>
  );
}

/** What the last pin or veto did, with the way back. */
function DecisionBar(): JSX.Element | null {
  const change = lastChange.value;
  if (!change && !canUndo.value && !canRedo.value && !isDeciding.value) return null;
  return (
    <div class="decision" aria-live="polite">
      {isDeciding.value && <span>Searching again…</span>}
      {!isDeciding.value && change && (
        <span class="change">
          <b>{difference(change.differenceS)}</b>, {changeWords(change.changed.size)}
        </span>
      )}
      <span class="spacer" />
      <span class="pair">
      <button type="button" disabled={!canUndo.value || isDeciding.value} title="Undo (u)" onClick={() => step(-1)}>
        Undo
      </button>
      <button type="button" disabled={!canRedo.value || isDeciding.value} title="Redo (U)" onClick={() => step(1)}>
        Redo
      </button>
      </span>
    </div>
  );
}

function changeWords(count: number): string {
  return count === 0 ? "no partition changes" : `${plural(count, "partition")} ${count === 1 ? "changes" : "change"}`;
}
