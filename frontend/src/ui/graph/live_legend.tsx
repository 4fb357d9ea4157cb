// The legend of the overlay Search while a run goes on.

import type { JSX } from "preact";
import { model } from "../../state/model/model";
import { searchPicture } from "../../state/replay/overlay";

export function LiveLegend(): JSX.Element {
  const shown = searchPicture.value;
  if (!shown) return <p class="legend muted">Shown while candidates are measured, and while the search goes on.</p>;
  const { tried, frontier, partitions } = shown;
  if (partitions.length === 0) {
    const first = frontier === null ? undefined : model.value?.graph.nodes[frontier]?.name;
    return (
      <div class="legend">
        <span>grey: covered by the state that was taken last</span>
        <span class="muted">{first === undefined ? "all nodes are covered" : `outlined: the first that is not covered, ${first}`}</span>
      </div>
    );
  }
  return (
    <div class="legend">
      {partitions.some((one) => one !== tried) && <span>tinted: the best plan by the costs so far</span>}
      {partitions.some((one) => one !== tried && one.source === "bound") && <span class="muted">lines across: not measured yet</span>}
      {tried && <span>{`highlighted: ${tried.target} is being built and timed`}</span>}
    </div>
  );
}
