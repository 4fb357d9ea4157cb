// The tip at the pointer: the overlay's text about the node there, or what crosses at the edge there. Screen readers have the text about a
// node in its name.

import type { JSX } from "preact";
import { overlayText } from "../../state/graph/aria_text";
import { crossings } from "../../state/graph/crossings";
import { tip, type Tip } from "../../state/graph/tip";
import { screenSize } from "../../state/graph/view";
import { model } from "../../state/model/model";

const WIDTH_PX = 300;

export function NodeTip(): JSX.Element | null {
  const at = tip.value;
  const content = at && (at.box === undefined ? edgeContent(at) : boxContent(at.box));
  if (!at || !content) return null;
  const left = Math.max(4, Math.min(at.x + 14, screenSize.value.width - WIDTH_PX - 4));
  return (
    <div class="node-tip" style={{ left: `${left}px`, top: `${at.y + 18}px`, maxWidth: `${WIDTH_PX}px` }} aria-hidden="true">
      {content}
    </div>
  );
}

function boxContent(id: number): JSX.Element | null {
  const box = model.value?.scene.graph.boxes[id];
  const words = overlayText(id);
  if (!box || words === "") return null;
  return (
    <>
      <b>{box.title}</b> <span class="muted">{box.name === box.title ? "" : box.name}</span>
      <div>{words}</div>
    </>
  );
}

function edgeContent({ edge }: Tip): JSX.Element | null {
  const crossing = edge && crossings.value.get(edge);
  if (!crossing) return null;
  return (
    <>
      {crossing.lines.map((line) => (
        <div key={line}>{line}</div>
      ))}
    </>
  );
}
