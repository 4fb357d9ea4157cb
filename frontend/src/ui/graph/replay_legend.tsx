// The legend of the overlay Search for a run that has ended, or the way to trace its search.

import type { JSX } from "preact";
import { showDrawer } from "../../state/display";
import { model } from "../../state/model/model";
import { searchPicture } from "../../state/replay/overlay";
import { traceFacts } from "../../state/replay/player";

export function ReplayLegend(): JSX.Element {
  const shown = searchPicture.value;
  if (!traceFacts.value || !shown) {
    return (
      <p class="legend muted">
        {traceFacts.value ? "Loading the step…" : "This search has not been traced."}
        {!traceFacts.value && (
          <button type="button" class="link" onClick={() => showDrawer("search")}>
            Trace it
          </button>
        )}
      </p>
    );
  }
  const first = shown.frontier === null ? undefined : model.value?.graph.nodes[shown.frontier]?.name;
  const { tried } = shown;
  return (
    <div class="legend">
      <span>tinted: covered at this step</span>
      {tried && <span>{`in full colour${shown.isRefused ? ", lines across" : ""}: ${tried.target} is tried${shown.isRefused ? " and not placed" : ""}`}</span>}
      <span class="muted">{first === undefined ? "all nodes are covered" : `outlined: the first that is not covered, ${first}`}</span>
    </div>
  );
}
