// The difference between two plans of one model, as the server finds it, with the partitions that it names by their ids. Pure.

import type { PlanInfo, PlanPartition, TwoPlans, TwoRegions } from "../protocol";

/** A smallest set of nodes that is whole partitions of both plans, so that its costs in both can be compared. */
export interface Region extends Pick<TwoRegions, "kind" | "nodes" | "cost" | "is_change"> {
  plan: PlanPartition[];
  against: PlanPartition[];
}

export interface Difference extends Omit<TwoPlans, "regions" | "moved"> {
  /** The largest difference first. */
  regions: Region[];
  regionOf: ReadonlyMap<number, Region>;
  /** Nodes whose targets in the two plans differ. */
  moved: ReadonlySet<number>;
}

/** The difference between `plan` and `against`, of which the server says how they compare. */
export function differenceOf(plan: PlanInfo, against: PlanInfo, found: TwoPlans): Difference {
  const [mine, others] = [plan, against].map((one) => new Map(one.partitions.map((part) => [part.id, part])));
  const named = (ids: readonly string[], all: ReadonlyMap<string, PlanPartition> | undefined): PlanPartition[] => ids.flatMap((id) => all?.get(id) ?? []);
  const regions = found.regions.map(({ kind, nodes, cost, is_change, first, second }) => ({ kind, nodes, cost, is_change, plan: named(first, mine), against: named(second, others) }));
  return { ...found, regions, regionOf: new Map(regions.flatMap((region) => region.nodes.map((node) => [node, region]))), moved: new Set(found.moved) };
}
