// The locations of a plan: the memories where its partitions read and make their tensors, each with a colour. Pure.

import type { PlanInfo, PlanPartition } from "../protocol";

export const HOST = "host";

/** No colour of a toolchain, and seen in light and dark. */
const COLOURS = ["#0891b2", "#4d7c0f", "#b91c1c", "#a16207", "#475569"];

/** The location of a partition. */
export function locationOf(partition: PlanPartition | undefined): string {
  return partition?.location ?? HOST;
}

/** The colour of each location beside the host's, by the order of the names: it stays the same when the plan changes. */
export function locationColours(names: Iterable<string>): ReadonlyMap<string, string> {
  const others = [...new Set(names)].filter((name) => name !== HOST).sort();
  return new Map(others.map((name, index) => [name, COLOURS[index % COLOURS.length] ?? ""]));
}

/** True if a plan has tensors at several locations, or could have: then where they are is shown. */
export function isPlaced(plan: PlanInfo): boolean {
  return plan.copies !== undefined && plan.copies !== null;
}
