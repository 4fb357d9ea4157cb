// How the shown plan is painted over the graph: each node's paint by the overlay, and what follows from it for the hulls, for
// the single nodes, and for the strip.

import { computed, signal } from "@preact/signals";
import { mix } from "../../base/colour";
import { isSamePaint, paintNodes, type NodePaint, type Painted, type Palette } from "../../data/overlays/colours";
import type { PlanPartition } from "../../data/protocol";
import { CATEGORY_COLOUR } from "../../graph/boxes/categories";
import type { HullPaint } from "../../graph/canvas/frame";
import { readTheme, watchTheme, type Theme } from "../../graph/canvas/theme";
import { hullsOf, type Hull } from "../../graph/scene/hulls";
import { overlay } from "../display";
import { styleOf } from "../model/catalogue";
import { model } from "../model/model";
import { planDifference, planSide } from "../plan/compare";
import { searchPicture } from "../replay/overlay";
import { partitions, run } from "../run/run";
import { badges } from "./badges";
import { coverage, coveredTarget } from "./coverage";

/** The canvas's colours; null before the page's style is there. */
export const theme = signal<Theme | null>(null);

/** Read the colours, and again whenever the system's scheme changes. */
export function startTheme(): void {
  theme.value = readTheme();
  watchTheme(() => (theme.value = readTheme()));
}

/** The partitions that are drawn: those of the shown plan, or of the one that is compared. */
export const drawnPartitions = computed((): readonly PlanPartition[] => {
  if (overlay.value === "search") return searchPicture.value?.partitions ?? [];
  return overlay.value === "difference" && planSide.value.kind === "ready" ? planSide.value.side.plan.partitions : partitions.value;
});

export const hulls = computed((): Hull[] => (model.value ? hullsOf(model.value.scene, drawnPartitions.value) : []));

const drawnPartitionOf = computed(() => {
  const found = new Map<number, PlanPartition>();
  for (const partition of drawnPartitions.value) for (const node of partition.nodes) found.set(node, partition);
  return found;
});

/** The largest cost of a partition, in seconds, and its share of the total. */
export const hottest = computed(() => {
  const costS = Math.max(0, ...partitions.value.map((partition) => partition.cost_s ?? 0));
  const totalS = run.value?.plan?.total_s ?? 0;
  return { costS, share: totalS > 0 ? costS / totalS : 0 };
});

const painted = computed((): Painted => {
  switch (overlay.value) {
    case "cost":
      return { overlay: "cost", hottestS: hottest.value.costS };
    case "coverage":
      return { overlay: "coverage", target: coveredTarget.value ?? "", nodes: coverage.value };
    case "difference":
      return { overlay: "difference", difference: planDifference.value };
    case "search":
      return { overlay: "search", triedId: searchPicture.value?.tried?.id, isRefused: searchPicture.value?.isRefused ?? false, isLive: searchPicture.value?.isLive ?? false, covered: searchPicture.value?.covered ?? 0 };
    default:
      return { overlay: overlay.value };
  }
});

/** The colours that overlays are painted with. */
export const palette = computed((): Palette => {
  const colours = theme.value;
  const background = colours?.background ?? "#ffffff";
  return { isDark: colours?.isDark ?? false, background, bare: mix(colours?.edge ?? "#888888", background, 0.5), target: (name) => styleOf(name).base };
});

const nodeCount = computed(() => model.value?.graph.nodes.length ?? 0);

/** How each node is painted: the graph and the strip both follow this. */
export const nodePaints = computed((): readonly (NodePaint | null)[] => {
  return paintNodes(painted.value, nodeCount.value, drawnPartitionOf.value, palette.value);
});

/** The one paint of a hull's nodes; undefined where they differ. */
function commonPaint({ partition }: Hull): NodePaint | null | undefined {
  const first = nodePaints.value[partition.nodes[0] ?? -1] ?? null;
  return partition.nodes.every((node) => isSamePaint(nodePaints.value[node] ?? null, first)) ? first : undefined;
}

/** How each hull is painted: made once for a plan, an overlay and a set of pins, not for each frame. */
const paints = computed(() => new Map(hulls.value.map((hull): [Hull, HullPaint] => [hull, paint(hull)])));

/** How a partition's hull is painted. */
export function paintOf(hull: Hull): HullPaint {
  return paints.value.get(hull) ?? paint(hull);
}

function paint(hull: Hull): HullPaint {
  const { partition } = hull;
  const words = badges.value;
  return { node: commonPaint(hull) ?? null, badge: styleOf(partition.target).strong, badgeText: () => words(partition) };
}

const NO_PADS: ReadonlyMap<number, NodePaint> = new Map();

/** Nodes that are painted one by one: those of a hull whose nodes differ, and those of no hull. */
export const pads = computed((): ReadonlyMap<number, NodePaint> => {
  if (overlay.value !== "coverage" && overlay.value !== "difference" && overlay.value !== "search") return NO_PADS;
  const inOne = new Set(hulls.value.filter((hull) => commonPaint(hull) !== undefined).flatMap((hull) => hull.partition.nodes));
  return new Map(nodePaints.value.flatMap((one, node): [number, NodePaint][] => (one && !inOne.has(node) ? [[node, one]] : [])));
});

/** Nodes that are hatched: guesses, or what cannot be. */
export const hatchedNodes = computed((): ReadonlySet<number> => new Set(nodePaints.value.flatMap((one, node) => (one?.isHatched ? [node] : []))));

/** Each node's colour where it is one line: its paint's; where the overlay says nothing, its category's before there is a plan. */
export const nodeColours = computed((): readonly string[] => {
  const hasPlan = partitions.value.length > 0;
  const { bare } = palette.value;
  const boxes = model.value?.built.boxes ?? [];
  return nodePaints.value.map((one, node) => {
    if (one) return one.fill;
    const box = boxes[node];
    return box && !hasPlan ? CATEGORY_COLOUR[box.category] : bare;
  });
});
