// How the shown plan is painted over the graph: hulls, their colours by the overlay, badges, and each node's colour in the strip.

import { computed, signal } from "@preact/signals";
import { namesIn } from "../constraints";
import { duration, spread } from "../format";
import { CATEGORY_COLOUR } from "../graph/categories";
import { hullsOf, type Hull } from "../graph/hulls";
import type { HullPaint } from "../graph/renderer";
import { readTheme, watchTheme, type Theme } from "../graph/theme";
import type { PlanPartition } from "../protocol";
import { heat } from "../targets";
import { look } from "./catalogue";
import { constraints } from "./decisions";
import { model } from "./model";
import { partitionOf, partitions, run } from "./run";
import { overlay } from "./selection";

/** The canvas's colours; null before the page's style is there. */
export const theme = signal<Theme | null>(null);

/** Read the colours, and again whenever the system's scheme changes. */
export function startTheme(): void {
  theme.value = readTheme();
  watchTheme(() => (theme.value = readTheme()));
}

export const hulls = computed((): Hull[] => (model.value ? hullsOf(model.value.scene, partitions.value) : []));

/** The largest cost of a partition, in seconds, and its share of the total. */
export const hottest = computed(() => {
  const costS = Math.max(0, ...partitions.value.map((partition) => partition.cost_s ?? 0));
  const totalS = run.value?.plan?.total_s ?? 0;
  return { costS, share: totalS > 0 ? costS / totalS : 0 };
});

/** Names of the nodes that are pinned. */
const pinned = computed(() => new Set(constraints.value.filter((one) => one["kind"] === "pin").flatMap(namesIn)));

const HEAT_STRENGTH = 3.2;

/** How each hull is painted: made once for a plan, an overlay and a set of pins, not for each frame. */
const paints = computed(() => new Map(hulls.value.map((hull): [Hull, HullPaint] => [hull, paint(hull.partition)])));

/** How a partition's hull is painted. */
export function paintOf(hull: Hull): HullPaint {
  return paints.value.get(hull) ?? paint(hull.partition);
}

function paint(partition: PlanPartition): HullPaint {
  const strength = overlay.value === "cost" ? HEAT_STRENGTH : 1;
  return { fill: fillOf(partition), strength, badge: look(partition.target).strong, badgeText: badgeOf(partition) };
}

function fillOf(partition: PlanPartition): string {
  if (overlay.value === "target" || partition.cost_s === null) return look(partition.target).base;
  return heat(hottest.value.costS > 0 ? partition.cost_s / hottest.value.costS : 0, theme.value?.isDark ?? false);
}

function badgeOf(partition: PlanPartition): string {
  const parts = [look(partition.target).letter];
  if (partition.cost_s !== null) parts.push(duration(partition.cost_s), spread(partition.cost_s, partition.spread_s));
  if (partition.names.some((name) => pinned.value.has(name))) parts.push("◆");
  return parts.filter(Boolean).join(" ");
}

/** Each node's colour where it is one line: by the overlay once there is a plan, by its category before. */
export const nodeColours = computed((): readonly string[] => {
  const hasPlan = partitions.value.length > 0;
  const bare = theme.value?.edge ?? "#888888";
  const boxes = model.value?.scene.boxes ?? [];
  return (model.value?.graph.nodes ?? []).map((node) => {
    const partition = partitionOf.value.get(node.id);
    if (partition) return fillOf(partition);
    const box = boxes[node.id]?.box;
    return box && !hasPlan ? CATEGORY_COLOUR[box.category] : bare;
  });
});

/** What a screen reader says of a box. */
export function spoken(id: number): string {
  const box = model.value?.scene.boxes[id]?.box;
  if (!box) return "";
  if (box.kind !== "node") return `${box.kind} ${box.name}, ${box.rows[0]?.text ?? ""}`;
  const partition = partitionOf.value.get(id);
  const name = box.name === box.title ? "" : ` ${box.name}`;
  if (!partition) return `${box.title}${name}`;
  const cost = partition.cost_s === null ? "" : `, ${duration(partition.cost_s)}`;
  const others = partition.nodes.length > 1 ? ` with ${partition.nodes.length - 1} more` : "";
  return `${box.title}${name}, on ${partition.target}${others}${cost}`;
}
