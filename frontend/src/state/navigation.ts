// Going somewhere in the graph: select, bring into view, put the keyboard's focus there.

import { focusBox } from "../graph/controller";
import { boundsOf, holderOf, type PlacedBox } from "../graph/scene";
import { neighbour, type Direction } from "../graph/walk";
import type { PlanPartition } from "../protocol";
import { withoutStep } from "./address";
import { groupOf, toggle, unfoldTo } from "./folding";
import { model } from "./model";
import { hovered, select, selection } from "./selection";
import { reveal, revealWhole } from "./view";

/** Select a box and show it, unfolded from what hides it; the keyboard goes on from there. */
export function goTo(box: number): void {
  select({ kind: "box", box });
  void unfoldTo(box).then(() => {
    const place = placesOf([box])[0];
    if (!place) return;
    reveal(place);
    focusBox(place.box.id);
  });
}

/** What is drawn for some nodes. */
function placesOf(nodes: readonly number[]): PlacedBox[] {
  const scene = model.peek()?.scene;
  return scene ? [...new Set(nodes.flatMap((node) => holderOf(scene, node) ?? []))] : [];
}

/** Select a partition and show it. */
export function goToPartition(partition: PlanPartition): void {
  const boxes = placesOf(partition.nodes);
  select({ kind: "partition", id: partition.id });
  if (boxes.length > 0) reveal(boundsOf(boxes), 0.5);
}

/** Select the first of some nodes and bring them all into view. */
export function showNodes(nodes: readonly number[]): void {
  const first = nodes[0];
  const boxes = placesOf(nodes);
  if (first === undefined || boxes.length === 0) return;
  select({ kind: "box", box: first });
  revealWhole(boundsOf(boxes));
}

/** Walk from the selected box along an edge; from nothing, to the first box. */
export function walk(direction: Direction): void {
  const scene = model.peek()?.scene;
  if (!scene) return;
  const chosen = selection.peek();
  const next = scene.boxes[(chosen.kind === "box" ? neighbour(scene, chosen.box, direction) : scene.graph.order[0]) ?? -1];
  if (!next) return;
  withoutStep(() => select({ kind: "box", box: scene.graph.groupAt.get(next.box.id)?.nodes[0] ?? next.box.id }));
  reveal(next);
  focusBox(next.box.id);
}

/** Unfold the group that stands for the selection, or fold the innermost around it. */
export function toggleSelected(): void {
  const chosen = selection.peek();
  const group = chosen.kind === "box" ? groupOf(chosen.box) : undefined;
  if (group) void toggle(group).then(() => focusBox(group.nodes[0] ?? 0));
}

/** Outline nodes while something that names them is pointed at. */
export function point(nodes: readonly number[]): void {
  hovered.value = new Set(nodes);
}
