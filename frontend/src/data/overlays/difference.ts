// The difference between two plans of one model, by regions: sets of nodes that are whole partitions of both plans. Pure.

import type { PlanInfo, PlanPartition } from "../protocol";

/** `same`: one partition on one target in both plans; `recut`: the same targets, other partitions; `moved`: a node has another target. */
export type RegionKind = "same" | "recut" | "moved";

/** A smallest set of nodes that is whole partitions of both plans, so that its costs in both can be compared. */
export interface Region {
  kind: RegionKind;
  /** Ascending. */
  nodes: number[];
  plan: PlanPartition[];
  against: PlanPartition[];
  /** Sums of the partitions' costs; null where one is not known. */
  planS: number | null;
  againstS: number | null;
}

export interface Difference {
  /** The largest difference first. */
  regions: Region[];
  regionOf: ReadonlyMap<number, Region>;
  /** Nodes whose targets in the two plans differ. */
  moved: ReadonlySet<number>;
  /** The cost of all transitions, in each plan. */
  planTransitionsS: number;
  againstTransitionsS: number;
}

/** Compare `plan` with `against`. */
export function differenceOf(plan: PlanInfo, against: PlanInfo): Difference {
  const mine = holders(plan.partitions);
  const other = holders(against.partitions);
  const moved = new Set([...mine].filter(([node, one]) => other.get(node)?.target !== one.target).map(([node]) => node));
  const regionOf = new Map<number, Region>();
  const regions: Region[] = [];
  for (const start of [...new Set([...mine.keys(), ...other.keys()])].sort((a, b) => a - b)) {
    if (regionOf.has(start)) continue;
    const region = grown(start, mine, other, moved);
    for (const node of region.nodes) regionOf.set(node, region);
    regions.push(region);
  }
  regions.sort((a, b) => size(b) - size(a) || RANK[a.kind] - RANK[b.kind] || (a.nodes[0] ?? 0) - (b.nodes[0] ?? 0));
  return { regions, regionOf, moved, planTransitionsS: transitionsS(plan), againstTransitionsS: transitionsS(against) };
}

/** The cost in `plan` less the cost in `against`; null where one is not known. */
export function changeOf(region: Region): number | null {
  return region.planS === null || region.againstS === null ? null : region.planS - region.againstS;
}

const NOTHING_S = 0.5e-9;

/** True if the targets, the partitions or the cost of a region differ. */
export function isChange(region: Region): boolean {
  return region.kind !== "same" || Math.abs(changeOf(region) ?? 0) >= NOTHING_S;
}

const RANK: Record<RegionKind, number> = { moved: 0, recut: 1, same: 2 };

function size(region: Region): number {
  return Math.abs(changeOf(region) ?? (region.kind === "same" ? 0 : Infinity));
}

function holders(partitions: readonly PlanPartition[]): Map<number, PlanPartition> {
  return new Map(partitions.flatMap((partition) => partition.nodes.map((node): [number, PlanPartition] => [node, partition])));
}

/** The region around a node: it grows by every partition of either plan that holds one of its nodes. */
function grown(start: number, mine: Map<number, PlanPartition>, other: Map<number, PlanPartition>, moved: ReadonlySet<number>): Region {
  const nodes = new Set([start]);
  const plan = new Set<PlanPartition>();
  const against = new Set<PlanPartition>();
  // Iterating a set also visits what is added to it meanwhile.
  for (const node of nodes) {
    for (const [holder, kept] of [[mine.get(node), plan], [other.get(node), against]] as const) {
      if (!holder || kept.has(holder)) continue;
      kept.add(holder);
      for (const more of holder.nodes) nodes.add(more);
    }
  }
  const all = [...nodes].sort((a, b) => a - b);
  const isSame = plan.size === 1 && against.size === 1;
  const kind = all.some((node) => moved.has(node)) ? "moved" : isSame ? "same" : "recut";
  return { kind, nodes: all, plan: [...plan], against: [...against], planS: sum(plan), againstS: sum(against) };
}

function sum(partitions: Iterable<PlanPartition>): number | null {
  let total: number | null = 0;
  for (const { cost_s } of partitions) total = total === null || cost_s === null ? null : total + cost_s;
  return total;
}

function transitionsS(plan: PlanInfo): number {
  return plan.transitions.reduce((all, one) => all + one.cost_s, 0);
}
