// The paints and texts of folded groups, by the present overlay: the shares of the paints, targets and costs of their nodes.

import { computed } from "@preact/signals";
import { duration, plural } from "../../base/format";
import type { NodePaint } from "../../data/overlays/colours";
import { heat } from "../../data/overlays/ramps";
import { costOfNodes } from "../../data/plan/node_times";
import { groupTitle, type Group } from "../../graph/boxes/groups";
import type { BarShare, GroupsDrawn } from "../../graph/canvas/frame";
import { overlay } from "../display";
import { groupFrames, handles } from "../model/folding";
import { model } from "../model/model";
import { partitionOf } from "../run/run";
import { kernels } from "../tables/node_times";
import { hottest, nodePaints, palette } from "./painting";

/** Everything that is drawn for groups. */
export const groupsDrawn = computed((): GroupsDrawn => ({ frames: groupFrames.value, handles: handles.value, bars: bars.value }));

const bars = computed((): ReadonlyMap<number, readonly BarShare[]> => {
  const found = new Map<number, readonly BarShare[]>();
  for (const [box, group] of model.value?.scene.graph.groupAt ?? []) {
    const shares = overlay.value === "cost" ? heatOf(group) : sharesOf(group);
    if (shares.some((share) => share.paint)) found.set(box, shares);
  }
  return found;
});

/** The paints of the nodes of a group, each with its share of the nodes, the largest first. */
function sharesOf({ nodes }: Group): BarShare[] {
  const counts = new Map<string, { paint: NodePaint | null; count: number }>();
  for (const node of nodes) {
    const paint = nodePaints.value[node] ?? null;
    const key = paint ? `${paint.fill} ${paint.strength} ${paint.isHatched}` : "";
    const known = counts.get(key);
    if (known) known.count += 1;
    else counts.set(key, { paint, count: 1 });
  }
  return [...counts.values()].sort((a, b) => b.count - a.count).map(({ paint, count }) => ({ paint, fraction: count / nodes.length }));
}

/** The heat of a group: one colour for the sum of its partitions, and of its kernels in partitions that reach beyond it. */
function heatOf(group: Group): BarShare[] {
  const { seconds, partitions, uncounted } = costOfNodes(group.nodes, partitionOf.value, kernels.value);
  if (partitions === uncounted) return [];
  if (seconds === null) return [{ paint: { fill: palette.value.bare, strength: 2, isHatched: true }, fraction: 1 }];
  const share = hottest.value.costS > 0 ? Math.min(1, seconds / hottest.value.costS) : 0;
  return [{ paint: { fill: heat(share, palette.value.isDark), strength: 3, isHatched: false }, fraction: 1 }];
}

/** The text of a folded group for screen readers. */
export function groupAriaText(group: Group): string {
  return [`${groupTitle(group)}, ${plural(group.nodes.length, "node")}, folded`, ...groupText(group)].join("; ");
}

/** The targets of the nodes of a group, and what its partitions and kernels cost, in words. */
export function groupText(group: Group): string[] {
  const counts = new Map<string, number>();
  for (const node of group.nodes) {
    const target = partitionOf.value.get(node)?.target;
    if (target !== undefined) counts.set(target, (counts.get(target) ?? 0) + 1);
  }
  if (counts.size === 0) return [];
  const { seconds, partitions, uncounted } = costOfNodes(group.nodes, partitionOf.value, kernels.value);
  const targets = [...counts].sort((a, b) => b[1] - a[1]).map(([target, count]) => `${plural(count, "node")} on ${target}`);
  const border = uncounted === 0 ? "" : `, and parts of ${plural(uncounted, "partition")} that reach beyond it`;
  const counted = partitions - uncounted;
  const cost = counted === 0 ? [] : [`${plural(counted, "partition")}: ${seconds === null ? "a cost is not known" : duration(seconds)}${border}`];
  return [targets.join(", "), ...cost];
}
