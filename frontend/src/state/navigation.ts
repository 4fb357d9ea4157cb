// Going somewhere in the graph: select, bring into view, put the keyboard's focus there.

import { focusBox } from "../graph/controller";
import { boundsOf } from "../graph/scene";
import { neighbour, type Direction } from "../graph/walk";
import type { PlanPartition } from "../protocol";
import { withoutStep } from "./address";
import { model } from "./model";
import { hovered, select, selection } from "./selection";
import { reveal, revealWhole } from "./view";

/** Select a box and show it; the keyboard goes on from there. */
export function goTo(box: number): void {
  const place = model.peek()?.scene.boxes[box];
  if (!place) return;
  select({ kind: "box", box });
  reveal(place);
  focusBox(box);
}

/** Select a partition and show it. */
export function goToPartition(partition: PlanPartition): void {
  const boxes = partition.nodes.flatMap((node) => model.peek()?.scene.boxes[node] ?? []);
  select({ kind: "partition", id: partition.id });
  if (boxes.length > 0) reveal(boundsOf(boxes), 0.5);
}

/** Select the first of some nodes and bring them all into view. */
export function showNodes(nodes: readonly number[]): void {
  const first = nodes[0];
  const boxes = nodes.flatMap((node) => model.peek()?.scene.boxes[node] ?? []);
  if (first === undefined || boxes.length === 0) return;
  select({ kind: "box", box: first });
  revealWhole(boundsOf(boxes));
}

/** Walk from the selected box along an edge; from nothing, to the first box. */
export function walk(direction: Direction): void {
  const scene = model.peek()?.scene;
  if (!scene) return;
  const chosen = selection.peek();
  const next = chosen.kind === "box" ? neighbour(scene, chosen.box, direction) : scene.graph.order[0];
  if (next !== undefined) withoutStep(() => goTo(next));
}

/** Outline nodes while something that names them is pointed at. */
export function point(nodes: readonly number[]): void {
  hovered.value = new Set(nodes);
}
