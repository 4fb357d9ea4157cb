// The head of the panel: the selection, its targets and partitions, and links to its partition or nodes.

import type { JSX } from "preact";
import { duration, elapsed, plural, plusMinus } from "../../base/format";
import { typeOf } from "../../data/model/tensors";
import { approximately, PROFILE } from "../../data/plan/cost_source";
import type { PlanPartition } from "../../data/protocol";
import { groupTitle } from "../../graph/boxes/groups";
import { tuningTargets } from "../../state/model/catalogue";
import { groupOfNodes, toggleText } from "../../state/model/folding";
import { model } from "../../state/model/model";
import { partitionOf } from "../../state/run/run";
import { goToBox, goToPartition, toggleGroup } from "../../state/selection/navigation";
import { selectedNodes, selectedPartition } from "../../state/selection/selected";
import { selection } from "../../state/selection/selection";
import { Badge } from "../widgets/badge";

export function SelectionTitle(): JSX.Element | null {
  const chosen = selection.value;
  if (chosen.kind === "box") return <BoxTitle box={chosen.box} />;
  if (chosen.kind === "none") return null;
  if (chosen.kind === "boxes") return <NodesTitle />;
  const partition = selectedPartition.value;
  return partition ? <PartitionTitle partition={partition} /> : <p class="muted">This partition is not in the plan that is shown.</p>;
}

function BoxTitle({ box }: { box: number }): JSX.Element | null {
  const node = model.value?.graph.nodes[box];
  const placed = model.value?.built.boxes[box];
  if (!placed) return null;
  const partition = partitionOf.value.get(box);
  return (
    <div class="title">
      <h2>
        {placed.kind === "node" ? placed.title : placed.kind} <span class="muted">{placed.name}</span>
      </h2>
      {node && <p class="muted">{node.outputs.map(typeOf).join(", ")}</p>}
      {node?.host && <p class="muted">On the host, the process that runs the artifact: the node only passes references on.</p>}
      {partition && partition.nodes.length > 1 && (
        <button type="button" class="link" onClick={() => goToPartition(partition)}>
          <Badge target={partition.target} /> in a partition of {plural(partition.nodes.length, "node")}
        </button>
      )}
    </div>
  );
}

/** Several nodes, their targets, and their number of partitions. */
function NodesTitle(): JSX.Element {
  const nodes = selectedNodes.value;
  const group = groupOfNodes(nodes);
  const held = [...new Set(nodes.flatMap((node) => partitionOf.value.get(node) ?? []))];
  const targets = [...new Set(held.map((partition) => partition.target))];
  return (
    <div class="title">
      {group ? (
        <h2>
          {groupTitle(group)} <span class="muted">{plural(nodes.length, "node")}</span>
        </h2>
      ) : (
        <h2>{plural(nodes.length, "node")} selected</h2>
      )}
      {group && (
        <p>
          <button type="button" title={`${toggleText(group)} (o)`} onClick={() => toggleGroup(group)}>
            {toggleText(group)}
          </button>
        </p>
      )}
      {held.length > 0 && (
        <p>
          {targets.map((target) => (
            <span key={target}>
              <Badge target={target} /> {target}{" "}
            </span>
          ))}
          <span class="muted">in {plural(held.length, "partition")}</span>
        </p>
      )}
      <Members nodes={nodes} />
    </div>
  );
}

function Members({ nodes }: { nodes: readonly number[] }): JSX.Element {
  const all = model.value?.graph.nodes;
  return (
    <p class="members">
      {nodes.slice(0, MOST_MEMBERS).map((node) => (
        <button key={node} type="button" class="link" onClick={() => goToBox(node)} title={all?.[node]?.name}>
          {all?.[node]?.op ?? node}
        </button>
      ))}
      {nodes.length > MOST_MEMBERS && <span class="muted"> and {nodes.length - MOST_MEMBERS} more</span>}
    </p>
  );
}

const MOST_MEMBERS = 24;

function PartitionTitle({ partition }: { partition: PlanPartition }): JSX.Element {
  const stability = partition.stability === null ? "" : ` · chosen in ${Math.round(partition.stability * 100)} % of searches with varied costs`;
  return (
    <div class="title">
      <h2>
        <Badge target={partition.target} /> {plural(partition.nodes.length, "node")} on {partition.target}
      </h2>
      {partition.cost_s !== null && (
        <p>
          <b>{approximately(partition.source) + duration(partition.cost_s)}</b> <span class="muted">{`${plusMinus(partition.cost_s, partition.interval_s)} ${sampleText(partition)}${stability}`}</span>
        </p>
      )}
      <Members nodes={partition.nodes} />
    </div>
  );
}

function sampleText(partition: PlanPartition): string {
  const said = partition.samples > 0 ? `${plural(partition.samples, "sample")}, ${partition.source}` : partition.source === PROFILE ? "estimated from a profile" : partition.source;
  return [said, tuningText(partition)].filter(Boolean).join(", ");
}

/** "tuned for 12 s", or "not tuned" where the toolchain could; empty for others. */
function tuningText({ target, tuned, cost_s: seconds }: PlanPartition): string {
  if (!tuned) return tuningTargets.value.has(target) ? "not tuned" : "";
  const gain = seconds ? `: ×${(tuned.untuned_s / seconds).toFixed(2)}` : "";
  return `tuned for ${elapsed(tuned.spent_s)}${gain}`;
}
