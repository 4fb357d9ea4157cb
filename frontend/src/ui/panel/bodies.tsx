// The bodies of the selected node: who runs it, how often each body ran, and its graph with its plan; bodies within bodies unfold.

import type { JSX } from "preact";
import { duration } from "../../base/format";
import { bodyPicture, bodyText, BOX, ranText, runsOnText, type BodyPicture } from "../../data/plan/bodies";
import { pinNodes, vetoNodes } from "../../data/plan/constraints";
import type { BodyInfo, ControlNode } from "../../data/protocol";
import { styleOf } from "../../state/model/catalogue";
import { hasNodeNamed } from "../../state/model/model";
import { isReport } from "../../data/config";
import { decide, isDeciding } from "../../state/plan/decisions";
import { selectedBodies } from "../../state/tables/bodies";
import { Badge } from "../widgets/badge";

export function Bodies(): JSX.Element | null {
  const node = selectedBodies.value;
  return node && <Node node={node} isOpen />;
}

/** A node with its bodies; unfolded at once where `isOpen`. */
function Node({ node, isOpen }: { node: ControlNode; isOpen: boolean }): JSX.Element {
  return (
    <section class="bodies" aria-label={`Bodies of ${node.name}`}>
      {runsOnText(node).map((line) => (
        <p key={line}>{line}.</p>
      ))}
      {node.bodies.map((body) => (
        <Body key={body.attribute} body={body} isOpen={isOpen} />
      ))}
    </section>
  );
}

function Body({ body, isOpen }: { body: BodyInfo; isOpen: boolean }): JSX.Element {
  const picture = bodyPicture(body);
  return (
    <details open={isOpen}>
      <summary>
        <b>{body.attribute}</b> {ranText(body.runs)} <span class="muted">{bodyText(body)}</span>
      </summary>
      {picture && <Picture picture={picture} label={`The graph of ${body.attribute}`} />}
      <ul class="body-plan">
        {body.partitions.map((one) => (
          <li key={one.nodes[0]}>
            <span>
              <Badge target={one.target} /> {one.nodes.map((index) => body.nodes[index]?.op ?? "").join(" + ")} <span class="muted">{one.cost_s === null ? "cost not known" : duration(one.cost_s)}</span>
            </span>
            <Decisions names={one.nodes.flatMap((index) => body.nodes[index]?.name ?? [])} target={one.target} />
          </li>
        ))}
      </ul>
      {body.inner.map((inner) => (
        <details key={inner.node}>
          <summary>
            <b>{inner.name}</b> <span class="muted">{inner.op}</span>
          </summary>
          <Node node={inner} isOpen={false} />
        </details>
      ))}
    </details>
  );
}

/** Pin a partition of a body to its target, or veto that for its nodes; nothing where their names would mean nodes of the model. */
function Decisions({ names, target }: { names: readonly string[]; target: string }): JSX.Element | null {
  if (isReport || target === "host" || hasNodeNamed(names)) return null;
  const what = names.join(", ");
  return (
    <span class="row-buttons">
      <button type="button" class="icon" disabled={isDeciding.value} aria-label={`Pin ${what} to ${target}`} title="Always here" onClick={() => void decide(pinNodes(names, target))}>
        ◆
      </button>
      <button type="button" class="icon" disabled={isDeciding.value} aria-label={`Veto ${target} for ${what}`} title="Never here" onClick={() => void decide(vetoNodes(names, target))}>
        ⊘
      </button>
    </span>
  );
}

/** Boxes in rows, as wide as the panel at most; a box with bodies of its own has a thick border. */
function Picture({ picture: { boxes, lines, width, height }, label }: { picture: BodyPicture; label: string }): JSX.Element {
  return (
    <svg class="body-graph" role="img" aria-label={label} viewBox={`-1 -1 ${width + 2} ${height + 2}`} style={{ maxWidth: `${width + 2}px` }}>
      {lines.map(({ from, to }) => (
        <line key={`${from.x},${from.y},${to.x},${to.y}`} x1={from.x + BOX.width / 2} y1={from.y + BOX.height} x2={to.x + BOX.width / 2} y2={to.y} />
      ))}
      {boxes.map((box) => (
        <g key={box.name}>
          <title>{`${box.name}, on ${box.target}`}</title>
          <rect x={box.x} y={box.y} width={BOX.width} height={BOX.height} rx={3} fill={styleOf(box.target).base} class={box.hasBodies ? "has-bodies" : ""} />
          <text x={box.x + BOX.width / 2} y={box.y + BOX.height / 2}>
            {box.text.length > 12 ? `${box.text.slice(0, 11)}…` : box.text}
          </text>
        </g>
      ))}
    </svg>
  );
}
