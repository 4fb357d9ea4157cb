// Texts about a node, for screen readers and for the tip at the pointer, by the present overlay.

import { duration, percent, plural, plusMinus } from "../../base/format";
import { doubtOf } from "../../data/overlays/certainty";
import { sourceLabel } from "../../data/plan/cost_source";
import type { PlanPartition } from "../../data/protocol";
import { overlay } from "../display";
import { model } from "../model/model";
import { planDifference } from "../plan/compare";
import type { Picture } from "../replay/overlay";
import { searchPicture } from "../replay/overlay";
import { partitionOf, run } from "../run/run";
import { kernels } from "../tables/node_times";
import { coverage, coveredTarget } from "./coverage";
import { groupText, groupAriaText } from "./group_painting";

/** The text of a box for screen readers. */
export function ariaText(id: number): string {
  const graph = model.value?.scene.graph;
  const box = graph?.boxes[id];
  const group = graph?.groupAt.get(id);
  if (!box) return "";
  if (group) return groupAriaText(group);
  if (box.kind !== "node") return `${box.kind} ${box.name}, ${box.rows[0]?.text ?? ""}`;
  const partition = partitionOf.value.get(id);
  const name = box.name === box.title ? "" : ` ${box.name}`;
  const more = saysMore() ? overlayText(id) : "";
  const tail = more === "" ? "" : `; ${more}`;
  if (!partition) return `${box.title}${name}${tail}`;
  const cost = partition.cost_s === null ? "" : `, ${duration(partition.cost_s)}${estimated(partition)}`;
  const others = partition.nodes.length > 1 ? ` with ${partition.nodes.length - 1} more` : "";
  return `${box.title}${name}, on ${partition.target}${others}${cost}${tail}`;
}

/** True if the overlay says more of a node than its target and its cost, which stand beside its name. */
export function saysMore(): boolean {
  return overlay.value !== "cost" && (overlay.value !== "target" || searchPicture.value !== null);
}

/** The present overlay of a node, or the plan of a folded group, in words; empty if nothing is shown. */
export function overlayText(node: number): string {
  const group = model.value?.scene.graph.groupAt.get(node);
  if (group) return groupText(group).join("; ");
  const partition = partitionOf.value.get(node);
  switch (overlay.value) {
    case "coverage":
      return coverageText(node, partition);
    case "difference":
      return differenceText(node);
    case "certainty":
      return partition ? certaintyText(partition) : "";
    case "cost":
      return partition ? [kernelText(node), costText(partition)].filter(Boolean).join("; ") : "";
    case "target":
      return searchPicture.value ? searchText(node) : partition ? targetText(partition) : "";
    case "search":
      return searchText(node);
  }
}

/** The state of a node at the shown step of a search. */
function searchText(node: number): string {
  const shown = searchPicture.value;
  if (!shown) return "";
  const { tried } = shown;
  if (shown.isLive) return liveText(node, shown);
  if (tried?.nodes.includes(node)) return shown.isRefused ? `${tried.target} is tried and not placed` : `${tried.target} is placed now`;
  const holder = shown.partitions.find((one) => one.nodes.includes(node));
  if (holder) return `covered by ${holder.target}`;
  return node === shown.frontier ? "the first node that is not covered" : "not covered";
}

/** The state of a node in a run that goes on. */
function liveText(node: number, { tried, partitions, covered, frontier }: Picture): string {
  if (tried?.nodes.includes(node)) return `${tried.target} is being built and timed`;
  if (node === frontier) return "the first node that is not covered";
  const holder = partitions.find((one) => one.nodes.includes(node));
  if (!holder) return node < covered ? "covered" : "not covered";
  if (covered > 0 || frontier !== null) return `placed on ${holder.target} in the newest state of the search`;
  return `${holder.target} in the plan that is considered${holder.source === "bound" ? ", not measured yet" : ""}`;
}

function targetText(partition: PlanPartition): string {
  return [`${partition.target} runs it`, company(partition)].filter(Boolean).join(", ");
}

function company(partition: PlanPartition): string {
  return partition.nodes.length > 1 ? `with ${plural(partition.nodes.length - 1, "other node")}` : "";
}

/** The time of a node inside its partition, in words. */
function kernelText(node: number): string {
  const kernel = kernels.value.get(node);
  if (!kernel || kernel.seconds === null || kernel.source === "cost") return "";
  const others = kernel.nodes.length > 1 ? ` with ${plural(kernel.nodes.length - 1, "other node")} in one kernel` : "";
  return `takes ${duration(kernel.seconds)}${others}, ${percent(kernel.share)} of its partition`;
}

function costText(partition: PlanPartition): string {
  if (partition.cost_s === null) return "its cost is not known";
  const totalS = run.value?.plan?.total_s ?? 0;
  const share = totalS > 0 ? `, ${Math.round((100 * partition.cost_s) / totalS)} % of the predicted total` : "";
  return [`${duration(partition.cost_s)}${estimated(partition)} ${company(partition)}`.trim(), share].join("");
}

/** A note behind every cost that is estimated, a bound or typed in. */
function estimated({ source }: PlanPartition): string {
  return sourceLabel(source);
}

/** How certain a partition is, and on what that rests. */
function certaintyText(partition: PlanPartition): string {
  const { basis, isGuess } = doubtOf(partition);
  if (partition.source === "host") return "nothing to run";
  const guess = isGuess ? (partition.cost_s === null ? "its cost is not known" : `its cost is no measurement (${partition.source})`) : "";
  if (basis === "stability") return [`chosen in ${Math.round((partition.stability ?? 0) * 100)} % of searches with varied costs`, guess].filter(Boolean).join("; ");
  if (isGuess) return guess;
  return basis === "interval" ? `${plusMinus(partition.cost_s, partition.interval_s)} over ${plural(partition.samples, "sample")}` : "measured, its uncertainty is not known";
}

function coverageText(node: number, partition: PlanPartition | undefined): string {
  const target = coveredTarget.value;
  const known = coverage.value?.[node];
  if (!target || !known) return "";
  if (partition?.target === "host") return "left to the host: it only moves data";
  if (known.kind === "cannot") return `${target} cannot take it: ${known.stage}, ${known.reason}`;
  return partition?.target === target ? `${target} runs it` : `${target} could take it`;
}

function differenceText(node: number): string {
  const region = planDifference.value?.regionOf.get(node);
  if (!region) return "";
  const holder = (all: readonly PlanPartition[]): string => all.find((one) => one.nodes.includes(node))?.target ?? "nobody";
  const cost = region.cost.change_s === null ? "" : `, ${region.cost.change}`;
  if (region.kind === "same") return `the same in both${cost}`;
  const [now, other] = [holder(region.plan), holder(region.against)];
  const targets = now === other ? `on ${now} in both, cut otherwise` : `on ${now}, ${other} in the other plan`;
  return `${targets}; ${plural(region.nodes.length, "node")} here${cost}`;
}
