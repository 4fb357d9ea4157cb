// Paints the shown plan: the paint of each node by the present overlay, and from it the paints of hulls, of single nodes (pads), and
// of the strip.

import { computed, signal } from "@preact/signals";
import { mix, textOn } from "../../base/colour";
import { isSamePaint, paintNodes, type NodePaint, type Painted, type Palette } from "../../data/overlays/colours";
import { locationColours, locationOf } from "../../data/plan/locations";
import { costOfNodes } from "../../data/plan/node_times";
import type { PlanPartition } from "../../data/protocol";
import { CATEGORY_COLOUR } from "../../graph/boxes/categories";
import type { BoxPaint, HullPaint } from "../../graph/canvas/frame";
import { readTheme, watchTheme, type Theme } from "../../graph/canvas/theme";
import { hullsOf, type Hull } from "../../graph/scene/hulls";
import { overlay } from "../display";
import { styleOf } from "../model/catalogue";
import { model } from "../model/model";
import { planDifference, planSide } from "../plan/compare";
import { searchPicture } from "../replay/overlay";
import { partitionOf, partitions, run } from "../run/run";
import { kernels } from "../tables/node_times";
import { badges } from "./badges";
import { coverage, coveredTarget } from "./coverage";

/** The colours of the canvas; null before they are read from the page's style sheet. */
export const theme = signal<Theme | null>(null);

/** Read the colours now, and whenever the system's colour scheme changes. */
export function startTheme(): void {
  theme.value = readTheme();
  watchTheme(() => (theme.value = readTheme()));
}

/** The drawn partitions: those of the shown plan, of the compared plan, or of the search. */
export const drawnPartitions = computed((): readonly PlanPartition[] => {
  if (searchPicture.value || overlay.value === "search") return searchPicture.value?.partitions ?? [];
  return overlay.value === "difference" && planSide.value.kind === "ready" ? planSide.value.side.plan.partitions : partitions.value;
});

export const hulls = computed((): Hull[] => (model.value ? hullsOf(model.value.scene, drawnPartitions.value) : []));

const drawnPartitionOf = computed(() => {
  const found = new Map<number, PlanPartition>();
  for (const partition of drawnPartitions.value) for (const node of partition.nodes) found.set(node, partition);
  return found;
});

/** The time of the kernel of each node, where it is known. */
const secondsOf = computed(() => {
  const found = new Map<number, number>();
  for (const [node, { seconds }] of kernels.value) if (seconds !== null) found.set(node, seconds);
  return found;
});

/** The highest cost that is drawn in one colour, in seconds: of a kernel, of a partition whose kernels are not known, or of a folded
 * group; and its share of the total. */
export const hottest = computed(() => {
  const whole = partitions.value.filter((one) => !secondsOf.value.has(one.nodes[0] ?? -1)).map((one) => one.cost_s ?? 0);
  const folded = [...(model.value?.scene.graph.groupAt.values() ?? [])].map((group) => costOfNodes(group.nodes, partitionOf.value, kernels.value).seconds ?? 0);
  const costS = [...whole, ...secondsOf.value.values(), ...folded].reduce((most, one) => Math.max(most, one), 0);
  const totalS = run.value?.plan?.total_s ?? 0;
  return { costS, share: totalS > 0 ? costS / totalS : 0, isByKernel: secondsOf.value.size > 0 };
});

const painted = computed((): Painted => {
  const picture = searchPicture.value;
  if (picture) return { overlay: "search", triedId: picture.tried?.id, isRefused: picture.isRefused, isLive: picture.isLive, covered: picture.covered };
  switch (overlay.value) {
    case "cost":
      return { overlay: "cost", hottestS: hottest.value.costS, secondsOf: secondsOf.value };
    case "coverage":
      return { overlay: "coverage", target: coveredTarget.value ?? "", nodes: coverage.value };
    case "difference":
      return { overlay: "difference", difference: planDifference.value };
    default:
      return { overlay: overlay.value === "certainty" ? "certainty" : "target" }; // of a search without a picture nothing is drawn
  }
});

/** The colours for overlays. */
export const palette = computed((): Palette => {
  const colours = theme.value;
  const background = colours?.background ?? "#ffffff";
  return { isDark: colours?.isDark ?? false, background, bare: mix(colours?.edge ?? "#888888", background, 0.5), target: (name) => styleOf(name).base };
});

const nodeCount = computed(() => model.value?.graph.nodes.length ?? 0);

/** The paint of each node, for the graph and for the strip. */
export const nodePaints = computed((): readonly (NodePaint | null)[] => {
  return paintNodes(painted.value, nodeCount.value, drawnPartitionOf.value, palette.value);
});

/** The common paint of the nodes of a hull; undefined where their paints differ. */
function commonPaint({ partition }: Hull): NodePaint | null | undefined {
  const first = nodePaints.value[partition.nodes[0] ?? -1] ?? null;
  return partition.nodes.every((node) => isSamePaint(nodePaints.value[node] ?? null, first)) ? first : undefined;
}

/** The colour of each location of the drawn plan beside the host's. */
const bands = computed(() => locationColours(drawnPartitions.value.map(locationOf)));

/** The paint of each hull, made once for a plan, an overlay and a set of pins, and not for each frame. */
const paints = computed(() => new Map(hulls.value.map((hull): [Hull, HullPaint] => [hull, paint(hull)])));

/** The paint of a hull. */
export function paintOf(hull: Hull): HullPaint {
  return paints.value.get(hull) ?? paint(hull);
}

function paint(hull: Hull): HullPaint {
  const { partition } = hull;
  const words = badges.value;
  return { node: commonPaint(hull) ?? null, badge: styleOf(partition.target).strong, badgeText: () => words(partition), band: bands.value.get(locationOf(partition)) ?? null };
}

const NO_PADS: ReadonlyMap<number, NodePaint> = new Map();

/** The paints of nodes that are painted one by one: those of hulls without a common paint, and those outside of all hulls. */
export const pads = computed((): ReadonlyMap<number, NodePaint> => {
  if (overlay.value === "target" || overlay.value === "cost" || overlay.value === "certainty") return NO_PADS;
  const inOne = new Set(hulls.value.filter((hull) => commonPaint(hull) !== undefined).flatMap((hull) => hull.partition.nodes));
  return new Map(nodePaints.value.flatMap((one, node): [number, NodePaint][] => (one && !inOne.has(node) ? [[node, one]] : [])));
});

/** The paints of boxes: the target's colour in the header, or the cost all over. Other overlays leave boxes as they are. */
export const boxPaints = computed((): ReadonlyMap<number, BoxPaint> => {
  const byTarget = new Map<string, BoxPaint>();
  const byFill = new Map<string, BoxPaint>();
  return new Map(nodePaints.value.flatMap((one, node): [number, BoxPaint][] => {
    const partition = drawnPartitionOf.value.get(node);
    if (!one || !partition || !(overlay.value === "target" || overlay.value === "cost")) return [];
    const isOpen = searchPicture.value && (one.isHatched || partition === searchPicture.value.tried); // it may not stay
    if (isOpen) return [];
    return [[node, overlay.value === "target" ? remembered(byTarget, partition.target, headed) : remembered(byFill, one.fill, filled)]];
  }));
});

function headed(target: string): BoxPaint {
  return { header: styleOf(target).strong, headerText: "#ffffff", body: null };
}

function filled(fill: string): BoxPaint {
  const text = textOn(fill);
  return { header: fill, headerText: text, body: { fill, text } };
}

function remembered<T>(known: Map<string, T>, key: string, make: (key: string) => T): T {
  const found = known.get(key) ?? make(key);
  known.set(key, found);
  return found;
}

/** The hatched nodes. */
export const hatchedNodes = computed((): ReadonlySet<number> => new Set(nodePaints.value.flatMap((one, node) => (one?.isHatched ? [node] : []))));

/** The colour of each node in the strip: that of its paint; of an unpainted node that of its category, as long as there is no plan. */
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
