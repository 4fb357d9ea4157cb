// The rows of a comparison of two plans: the regions with their partitions, or every node with its targets. A region is a smallest set
// of nodes that is whole partitions of both plans. Rows without a difference are left out, unless the user asks for them.

import type { JSX } from "preact";
import { duration, plural } from "../../base/format";
import type { Difference, Region } from "../../data/overlays/difference";
import type { PlanPartition } from "../../data/protocol";
import { spansOf } from "../../data/spans";
import { operatorsOf } from "../../data/tables/candidate_rows";
import { isAllCompared } from "../../state/display";
import { model } from "../../state/model/model";
import { point, showNodes } from "../../state/selection/navigation";
import { selection } from "../../state/selection/selection";
import { Badge } from "../widgets/badge";
import { LongTable, type Column } from "../widgets/long_table";

/** A region, or below it a partition of one of the two plans. */
interface RegionRow {
  region: Region;
  partition?: PlanPartition;
  side?: "plan" | "against";
}

export function ComparedRegions({ found }: { found: Difference }): JSX.Element {
  const regions = isAllCompared.value ? found.regions : found.regions.filter((region) => region.is_change);
  if (regions.length === 0) return <p class="muted">Both plans have the same partitions, and they cost the same.</p>;
  const rows = regions.flatMap(regionRows);
  return (
    <LongTable
      label="Regions of the two plans"
      columns={REGION_COLUMNS}
      rows={rows}
      keyOf={keyOf}
      isChosen={(row) => selection.value.kind === "box" && row.partition === undefined && row.region.nodes.includes(selection.value.box)}
      pick={(row) => showNodes(nodesOf(row))}
      point={(row) => point(row ? nodesOf(row) : [])}
    />
  );
}

/** The row of a region; below it a row for each of its partitions, where one of the plans has several. */
function regionRows(region: Region): RegionRow[] {
  if (region.plan.length <= 1 && region.against.length <= 1) return [{ region }];
  const of = (side: "plan" | "against"): RegionRow[] =>
    region[side].length > 1 ? [...region[side]].sort((a, b) => (b.cost_s ?? 0) - (a.cost_s ?? 0)).map((partition) => ({ region, partition, side })) : [];
  return [{ region }, ...of("plan"), ...of("against")];
}

function nodesOf(row: RegionRow): number[] {
  return row.partition?.nodes ?? row.region.nodes;
}

function keyOf({ region, partition, side }: RegionRow): string {
  return partition ? `${side ?? ""} ${partition.id}` : `region ${region.nodes[0] ?? ""}`;
}

const REGION_COLUMNS: readonly Column<RegionRow, string>[] = [
  { id: "region", title: "region", cell: (row) => <RegionName row={row} /> },
  { id: "kind", title: "what differs", widthPx: 150, cell: ({ region, partition }) => (partition ? "" : KIND_TEXT[region.kind]) },
  { id: "plan", title: "plan", widthPx: 190, cell: (row) => <Side row={row} side="plan" /> },
  { id: "against", title: "compared with", widthPx: 190, cell: (row) => <Side row={row} side="against" /> },
  { id: "change", title: "difference", widthPx: 110, isNumber: true, cell: ({ region, partition }) => (partition ? "" : region.cost.change) },
];

const KIND_TEXT: Record<Region["kind"], string> = { moved: "changes target", recut: "cut otherwise", same: "unchanged" };

function RegionName({ row }: { row: RegionRow }): JSX.Element {
  const nodes = model.value?.graph.nodes ?? [];
  const inside = nodesOf(row);
  return (
    <span class={row.partition ? "cut within" : "cut"}>
      {operatorsOf(spansOf(inside), nodes)} <span class="muted">{`${nodes[inside[0] ?? 0]?.name ?? ""}, ${plural(inside.length, "node")}`}</span>
    </span>
  );
}

function Side({ row, side }: { row: RegionRow; side: "plan" | "against" }): JSX.Element | null {
  const { region, partition } = row;
  if (partition) return row.side === side ? <Holders all={[partition]} costS={partition.cost_s} /> : null;
  return <Holders all={region[side]} costS={side === "plan" ? region.cost.first_s : region.cost.second_s} />;
}

/** The targets of a region in one plan, its number of partitions, and its cost. */
function Holders({ all, costS }: { all: readonly PlanPartition[]; costS: number | null }): JSX.Element {
  const targets = [...new Set(all.map((one) => one.target))];
  return (
    <span>
      {targets.map((target) => (
        <span key={target} title={target}>
          <Badge target={target} />
          <span class="unseen">{target}</span>{" "}
        </span>
      ))}
      {costS === null ? "not known" : duration(costS)} <span class="muted">{[all.length > 1 ? `in ${all.length}` : "", all.some((one) => one.source === "typed") ? "typed" : ""].filter(Boolean).join(", ")}</span>
    </span>
  );
}

interface NodeRow {
  node: number;
  plan: PlanPartition | undefined;
  against: PlanPartition | undefined;
}

export function ComparedNodes({ found }: { found: Difference }): JSX.Element {
  const rows = nodeRows(found).filter(({ node }) => isAllCompared.value || found.moved.has(node));
  if (rows.length === 0) return <p class="muted">Every node is on the same target in both plans.</p>;
  return (
    <LongTable
      label="Nodes of the two plans"
      columns={NODE_COLUMNS}
      rows={rows}
      keyOf={({ node }) => String(node)}
      isChosen={({ node }) => selection.value.kind === "box" && selection.value.box === node}
      pick={({ node }) => showNodes([node])}
      point={(row) => point(row ? [row.node] : [])}
    />
  );
}

function nodeRows(found: Difference): NodeRow[] {
  const holder = (all: readonly PlanPartition[]): Map<number, PlanPartition> => new Map(all.flatMap((one) => one.nodes.map((node) => [node, one])));
  const plan = holder(found.regions.flatMap((region) => region.plan));
  const against = holder(found.regions.flatMap((region) => region.against));
  return [...found.regionOf.keys()].sort((a, b) => a - b).map((node) => ({ node, plan: plan.get(node), against: against.get(node) }));
}

const NODE_COLUMNS: readonly Column<NodeRow, string>[] = [
  { id: "node", title: "node", cell: (row) => <NodeName node={row.node} /> },
  { id: "plan", title: "plan", widthPx: 280, cell: ({ plan }) => <Holder partition={plan} /> },
  { id: "against", title: "compared with", widthPx: 280, cell: ({ against }) => <Holder partition={against} /> },
];

function NodeName({ node }: { node: number }): JSX.Element {
  const one = model.value?.graph.nodes[node];
  return (
    <span class="cut">
      {one?.op} <span class="muted">{one?.name}</span>
    </span>
  );
}

/** The target of a node, with the cost of its whole partition: the cost of a single node is not known. */
function Holder({ partition }: { partition: PlanPartition | undefined }): JSX.Element | null {
  if (!partition) return null;
  const size = partition.nodes.length;
  return (
    <span>
      <Badge target={partition.target} /> {partition.target}{" "}
      <span class="muted">
        {partition.cost_s === null ? "" : duration(partition.cost_s)} {size > 1 ? `for ${size} nodes` : ""}
      </span>
    </span>
  );
}
