// The fold of the open model: the grouping of its nodes, and the unfolded groups. A change lays the model out again; the group that
// the user folds or unfolds stays where it is on the screen.

import { batch, computed, effect, signal } from "@preact/signals";
import { type Rect, touches } from "../../base/geometry";
import { asApiError } from "../../data/api";
import { FOLDS_FROM, groupCount, groupsAround, groupTitle, groupTree, type Fold, type Group, type Grouping } from "../../graph/boxes/groups";
import { textWidth, TITLE_FONT } from "../../graph/layout/measure";
import { Superseded } from "../../graph/layout/request";
import * as cameras from "../../graph/scene/camera";
import { handlesOf, type GroupFrame } from "../../graph/scene/handles";
import { makeScene } from "../../graph/scene/make";
import { holderOf, type Scene } from "../../graph/scene/scene";
import { camera, fitWhole, openView, windowForGraph, screenSize, setCamera } from "../graph/view";
import { partitions, runError } from "../run/run";
import { columns } from "../settings";
import { model, modelState, type OpenedModel } from "./model";

/** The frames and handles of the drawn groups. */
export const groupFrames = computed((): readonly GroupFrame[] => model.value?.frames ?? []);
export const handles = computed(() => (model.value ? handlesOf(model.value.scene, groupFrames.value, (title) => textWidth(title, TITLE_FONT)) : []));

/** The fold that was asked for last, and the graph that it is for; the page shows it as soon as it is laid out. */
const wanted = signal<{ of: OpenedModel["graph"]; fold: Fold } | null>(null);

/** The fold of the model, or the one that is being laid out. */
export const fold = computed((): Fold | null => {
  const opened = model.value;
  return opened && wanted.value?.of === opened.graph ? wanted.value.fold : (opened?.fold ?? null);
});

/** The possible groupings of the model, with their numbers of groups. */
export const groupings = computed((): { by: Grouping; count: number }[] => {
  const opened = model.value;
  if (!opened) return [];
  const all: Grouping[] = ["nothing", "repeats", "scopes", "partitions"];
  if (opened.graph.nodes.length >= FOLDS_FROM) all.push("sections");
  return all.map((by) => ({ by, count: groupCount(by, opened.groups, partitions.value) }));
});

/** Change the grouping, with all groups folded but those in `open`. */
export async function groupBy(by: Grouping, open: Iterable<string> = []): Promise<void> {
  const opened = model.peek();
  if (!opened) return;
  await refold({ by, tree: groupTree(by, opened.groups, partitions.peek()), open: new Set(open) }, middleNode());
}

/** Change to the next possible grouping. */
export async function groupByNext(): Promise<void> {
  const possible = groupings.peek().filter(({ by, count }) => by === "nothing" || count > 0);
  const at = possible.findIndex(({ by }) => by === fold.peek()?.by);
  const next = possible[(at + 1) % possible.length];
  if (next) await groupBy(next.by);
}

/** Fold or unfold a group. */
export async function toggle(group: Group): Promise<void> {
  const now = fold.peek();
  if (!now) return;
  const open = new Set(now.open);
  if (!open.delete(group.id)) open.add(group.id);
  await refold({ ...now, open }, group.nodes[0]);
}

/** Unfold all groups; fold them where all are unfolded. */
export async function toggleAll(): Promise<void> {
  const now = fold.peek();
  if (!now || now.tree.all.length === 0) return;
  const isOpen = now.tree.all.every((group) => now.open.has(group.id));
  await refold({ ...now, open: new Set(isOpen ? [] : now.tree.byId.keys()) }, middleNode());
}

/** Wrap the graph into columns, or let it run straight down; the page remembers which. */
export async function toggleColumns(): Promise<void> {
  const [opened, now] = [model.peek(), fold.peek()];
  if (!opened || !now) return;
  columns.value = isWrapped.peek() ? "off" : "on";
  await refold({ ...now }, undefined);
  openView();
}

/** True if the graph is in columns. */
export const isWrapped = computed(() => (model.value?.scene.columnEnds.length ?? 0) > 0);

/** Unfold the groups that hide a node. */
export async function unfoldTo(node: number): Promise<void> {
  const now = fold.peek();
  if (!now) return;
  const hiding = groupsAround(now.tree, node).filter((group) => !now.open.has(group.id));
  if (hiding.length > 0) await refold({ ...now, open: new Set([...now.open, ...hiding.map((group) => group.id)]) }, hiding[0]?.nodes[0]);
}

/** The group of exactly these nodes; undefined where there is none. */
export function groupOfNodes(nodes: readonly number[]): Group | undefined {
  const group = fold.value?.tree.byId.get(`${nodes[0] ?? 0}.${nodes.length}`);
  return group?.nodes.every((node, i) => node === nodes[i]) ? group : undefined;
}

/** The group to fold or unfold for these nodes: the group of exactly these nodes, else the folded one that hides them, else the innermost
 * one around them. */
export function groupFor(nodes: readonly number[]): Group | undefined {
  const now = fold.value;
  const around = now && nodes[0] !== undefined ? groupsAround(now.tree, nodes[0]) : [];
  return groupOfNodes(nodes) ?? around.find((group) => !now?.open.has(group.id)) ?? around.at(-1);
}

/** "Unfold h ×12", or "Fold h ×12" for an unfolded group. */
export function toggleText(group: Group): string {
  return `${fold.value?.open.has(group.id) ? "Fold" : "Unfold"} ${groupTitle(group)}`;
}

/** Lay the model out with another fold. The upper edge of the box that is drawn for the node `anchor` stays where it is on the screen. */
async function refold(next: Fold, anchor: number | undefined): Promise<void> {
  const opened = model.peek();
  if (!opened) return;
  wanted.value = { of: opened.graph, fold: next };
  try {
    const laid = await makeScene(opened.info.id, opened.graph, opened.built, next.tree, next.open, partitions.peek(), windowForGraph());
    const now = model.peek();
    if (now?.graph !== opened.graph || wanted.peek()?.fold !== next) return;
    const view = anchored(now.scene, laid.scene, anchor);
    batch(() => {
      modelState.value = { kind: "ready", model: { ...now, fold: next, ...laid } };
      setCamera(view);
    });
    const isAllFolded = next.open.size === 0 && now.fold.open.size > 1;
    if (now.fold.by !== next.by || isAllFolded) fitWhole();
  } catch (error) {
    if (error instanceof Superseded) return;
    wanted.value = null;
    runError.value = asApiError(error);
  }
}

/** The view in which the box that is drawn for a node stays where it was; if it was out of sight, the nearest view that shows it. */
function anchored(before: Scene, after: Scene, node: number | undefined): cameras.Camera {
  const view = camera.peek();
  const [from, to] = [before, after].map((scene) => (node === undefined ? undefined : holderOf(scene, node)));
  if (!from || !to) return view;
  const next = { k: view.k, x: view.x + to.x + to.width / 2 - from.x - from.width / 2, y: view.y + to.y - from.y };
  return touches(cameras.seen(view, screenSize.peek()), from) ? next : cameras.revealing(next, to, screenSize.peek(), view.k);
}

/** The first node of the drawn box that is nearest to the middle of the screen. */
function middleNode(): number | undefined {
  const scene = model.peek()?.scene;
  if (!scene) return undefined;
  const { width, height } = screenSize.peek();
  const { x, y, k } = camera.peek();
  const off = (rect: Rect): number => Math.hypot(rect.x + rect.width / 2 - x - width / k / 2, rect.y + rect.height / 2 - y - height / k / 2);
  const nodes = scene.drawn.filter((one) => one.box.kind === "node" || one.box.kind === "group");
  const nearest = nodes.sort((a, b) => off(a) - off(b))[0];
  return nearest && (scene.graph.groupAt.get(nearest.box.id)?.nodes[0] ?? nearest.box.id);
}

/** Group anew when the plan changes, where the model is grouped by the partitions of its plan. */
export function watchFolding(): void {
  effect(() => {
    void partitions.value;
    const now = fold.peek();
    const opened = model.peek();
    if (now?.by !== "partitions" || !opened) return;
    const tree = groupTree("partitions", opened.groups, partitions.value);
    if (tree.all.map((group) => group.id).join() !== now.tree.all.map((group) => group.id).join()) void refold({ ...now, tree }, middleNode());
  });
}
