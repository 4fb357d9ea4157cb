// The tip at the pointer: the overlay's text about the node there. Screen readers have the same text in the name of the node.

import type { JSX } from "preact";
import { overlayText } from "../../state/graph/aria_text";
import { tip } from "../../state/graph/tip";
import { screenSize } from "../../state/graph/view";
import { model } from "../../state/model/model";

const WIDTH_PX = 300;

export function NodeTip(): JSX.Element | null {
  const at = tip.value;
  const box = at && model.value?.scene.graph.boxes[at.box];
  const words = at ? overlayText(at.box) : "";
  if (!at || !box || words === "") return null;
  const left = Math.max(4, Math.min(at.x + 14, screenSize.value.width - WIDTH_PX - 4));
  return (
    <div class="node-tip" style={{ left: `${left}px`, top: `${at.y + 18}px`, maxWidth: `${WIDTH_PX}px` }} aria-hidden="true">
      <b>{box.title}</b> <span class="muted">{box.name === box.title ? "" : box.name}</span>
      <div>{words}</div>
    </div>
  );
}
