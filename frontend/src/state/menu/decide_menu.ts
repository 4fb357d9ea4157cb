// Opens the context menu for the thing at the pointer, or for the selection. The items of the menu are loaded with it.

import { during } from "../../base/idle";
import { isReport } from "../../data/config";
import type { PlanPartition } from "../../data/protocol";
import type { Edge } from "../../graph/boxes/build";
import { holderOf } from "../../graph/scene/scene";
import { camera } from "../graph/view";
import { model } from "../model/model";
import { selectedNodes } from "../selection/selected";
import { select, selectionOf } from "../selection/selection";
import type { Subject } from "./decide_items";
import { openMenu } from "./menu";

/** The thing at a point of the graph; a group is a folded one. */
export type Pointed =
  | { kind: "nothing" }
  | { kind: "box"; box: number }
  | { kind: "group"; nodes: readonly number[] }
  | { kind: "edge"; edge: Edge }
  | { kind: "partition"; partition: PlanPartition };

export interface PagePoint {
  x: number;
  y: number;
}

/** Open the menu for the thing at the pointer. A thing outside of the selection is selected first. */
export function openMenuAt(thing: Pointed, at: PagePoint): void {
  if (model.peek()?.file) return; // nothing is decided about the nodes of a file
  if (thing.kind === "edge") {
    void open({ kind: "edge", edge: thing.edge }, at);
    return;
  }
  if (thing.kind === "box" && !selectedNodes.peek().includes(thing.box)) select({ kind: "box", box: thing.box });
  if (thing.kind === "group" && !thing.nodes.every((node) => selectedNodes.peek().includes(node))) select(selectionOf(thing.nodes));
  if (thing.kind === "partition") select({ kind: "partition", id: thing.partition.id });
  openSelectionMenu(at);
}

/** Open the menu for the selection, at a point of the page, or else beside the last selected node. */
export function openSelectionMenu(at?: PagePoint): void {
  const nodes = selectedNodes.peek();
  if (nodes.length > 0) void open({ kind: "nodes", nodes }, at ?? besideNode(nodes[nodes.length - 1] ?? 0));
}

/** Open the menu for all nodes of an operator. */
export function openOpMenu(op: string, at: PagePoint): void {
  void open({ kind: "op", op }, at);
}

async function open(subject: Subject, at: PagePoint): Promise<void> {
  if (isReport) return;
  const { menuFor } = await during("menu", import("./decide_items"));
  const made = menuFor(subject);
  if (made) openMenu({ ...made, ...at });
}

/** The point below a node on the page; the middle of the graph where the node is out of sight. */
function besideNode(node: number): PagePoint {
  const stage = document.getElementById("stage")?.getBoundingClientRect();
  const scene = model.peek()?.scene;
  const box = scene && holderOf(scene, node);
  if (!stage || !box) return { x: 0, y: 0 };
  const { x, y, k } = camera.peek();
  const [left, top] = [(box.x + box.width / 2 - x) * k, (box.y + box.height - y) * k];
  const isSeen = left >= 0 && left <= stage.width && top >= 0 && top <= stage.height;
  return isSeen ? { x: stage.left + left, y: stage.top + top } : { x: stage.left + stage.width / 2, y: stage.top + stage.height / 2 };
}
