// The texts of the badges on hulls: the letter of the target, its location beside the host, and a figure of the present overlay.

import { computed } from "@preact/signals";
import { duration, plusMinus } from "../../base/format";
import { doubtOf } from "../../data/overlays/certainty";
import { namesIn } from "../../data/plan/constraints";
import { approximately } from "../../data/plan/cost_source";
import type { PlanPartition } from "../../data/protocol";
import { overlay } from "../display";
import { styleOf, styles } from "../model/catalogue";
import { planDifference } from "../plan/compare";
import { constraints } from "../plan/decisions";
import { insideOf } from "../tables/inside";

/** The names of the pinned nodes. */
const pinned = computed(() => new Set(constraints.value.filter((one) => one["kind"] === "pin").flatMap(namesIn)));

/** Returns a function that gives the badge of a partition, and makes each badge once, when it is first seen. */
export const badges = computed(() => {
  void [overlay.value, planDifference.value, pinned.value, styles.value, insideOf.value];
  const known = new Map<PlanPartition, string>();
  return (partition: PlanPartition): string => {
    const text = known.get(partition) ?? badgeOf(partition);
    known.set(partition, text);
    return text;
  };
});

/** The badge of a partition. */
export function badgeOf(partition: PlanPartition): string {
  const pin = partition.names.some((name) => pinned.value.has(name)) ? "◆" : "";
  return [styleOf(partition.target).letter, partition.location ?? "", ...wordsOf(partition), pin].filter(Boolean).join(" ");
}

function wordsOf(partition: PlanPartition): string[] {
  if (overlay.value === "difference" && planDifference.value) return changeText(partition);
  if (overlay.value === "certainty") return doubtText(partition);
  const within = overlay.value === "cost" ? insideOf.value.get(partition.id) : undefined;
  if (within && within.partitions === 1 && partition.cost_s !== null) return [`${duration(partition.cost_s)}, inside ${duration(within.seconds)}`];
  return partition.cost_s === null ? [] : [approximately(partition.source) + duration(partition.cost_s), UNMEASURED[partition.source] ?? plusMinus(partition.cost_s, partition.interval_s)];
}

const UNMEASURED: Readonly<Record<string, string>> = { estimate: "est.", typed: "typed" };

function doubtText(partition: PlanPartition): string[] {
  const { basis, isGuess } = doubtOf(partition);
  const guess = partition.cost_s === null ? "not known" : partition.source;
  const sure = basis === "stability" ? `${Math.round((partition.stability ?? 0) * 100)} %` : basis === "interval" ? plusMinus(partition.cost_s, partition.interval_s) : "";
  return isGuess ? [guess, basis === "stability" ? sure : ""] : [sure === "" && partition.source !== "host" ? "± ?" : sure];
}

/** The other plan's targets, and the change of the region's cost, which only its first partition shows. */
function changeText(partition: PlanPartition): string[] {
  const region = planDifference.value?.regionOf.get(partition.nodes[0] ?? -1);
  if (!region) return [];
  const from = [...new Set(region.against.filter((one) => one.nodes.some((node) => partition.nodes.includes(node))).map((one) => one.target))];
  const others = from.filter((target) => target !== partition.target).map((target) => styleOf(target).letter);
  const isFirst = region.plan[0] === partition;
  if (!region.is_change) return [];
  return [others.length > 0 ? `← ${others.join(" ")}` : "", isFirst && region.cost.change_s !== null ? region.cost.change : ""];
}
