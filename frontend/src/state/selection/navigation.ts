// Goes to boxes, nodes and partitions of the graph: selects them, brings them into view, and moves the keyboard's focus.

import { boundsOf } from "../../base/geometry";
import type { PlanPartition } from "../../data/protocol";
import type { Group } from "../../graph/boxes/groups";
import { holderOf, type PlacedBox } from "../../graph/scene/scene";
import { neighbour, type Direction } from "../../graph/scene/walk";
import { withoutStep } from "../address";
import { focusBox } from "../graph/focus";
import { reveal, revealWhole } from "../graph/view";
import { groupFor, toggle, unfoldTo } from "../model/folding";
import { model } from "../model/model";
import { addNodes, selectedNodes } from "./selected";
import { hovered, select, selection, selectionOf } from "./selection";

/** Select a box, unfold the groups that hide it, bring it into view and focus it. */
export function goToBox(box: number): void {
  select({ kind: "box", box });
  void unfoldTo(box).then(() => {
    const drawn = drawnFor([box])[0];
    if (!drawn) return;
    reveal(drawn);
    focusBox(drawn.box.id);
  });
}

/** The boxes that are drawn for some nodes. */
function drawnFor(nodes: readonly number[]): PlacedBox[] {
  const scene = model.peek()?.scene;
  return scene ? [...new Set(nodes.flatMap((node) => holderOf(scene, node) ?? []))] : [];
}

/** Select a partition and bring it into view. */
export function goToPartition(partition: PlanPartition): void {
  const boxes = drawnFor(partition.nodes);
  select({ kind: "partition", id: partition.id });
  if (boxes.length > 0) reveal(boundsOf(boxes), 0.5);
}

/** Select the first of some nodes and bring them all into view. */
export function showNodes(nodes: readonly number[]): void {
  const first = nodes[0];
  const boxes = drawnFor(nodes);
  if (first === undefined || boxes.length === 0) return;
  select({ kind: "box", box: first });
  revealWhole(boundsOf(boxes));
}

/** Select nodes and bring them all into view. */
export function selectNodes(nodes: readonly number[]): void {
  const boxes = drawnFor(nodes);
  if (boxes.length === 0) return;
  select(selectionOf(nodes));
  revealWhole(boundsOf(boxes));
}

/** Walk from the selected box along an edge; without a selection, to the first box. `isAdding` extends the selection. */
export function walk(direction: Direction, isAdding = false): void {
  const scene = model.peek()?.scene;
  if (!scene) return;
  const chosen = selection.peek();
  const from = chosen.kind === "box" ? chosen.box : chosen.kind === "boxes" ? chosen.boxes[chosen.boxes.length - 1] : undefined;
  const next = scene.boxes[(from === undefined ? scene.graph.order[0] : neighbour(scene, from, direction)) ?? -1];
  if (!next) return;
  const nodes = scene.graph.groupAt.get(next.box.id)?.nodes ?? [next.box.id];
  const isNode = next.box.kind === "node" || next.box.kind === "group";
  withoutStep(() => (isAdding && isNode ? addNodes(nodes) : select(selectionOf(nodes))));
  reveal(next);
  focusBox(nodes[0] ?? 0);
}

/** Unfold the group that hides the selection, or fold the innermost group around it. */
export function toggleSelected(): void {
  const group = groupFor(selectedNodes.peek());
  if (group) toggleGroup(group);
}

/** Outline nodes, while the pointer is over something that names them. */
export function point(nodes: readonly number[]): void {
  hovered.value = new Set(nodes);
}

/** Fold or unfold a group, select it, and focus its box or its first node. */
export function toggleGroup(group: Group): void {
  select(selectionOf(group.nodes));
  void toggle(group).then(() => focusBox(group.nodes[0] ?? 0));
}
