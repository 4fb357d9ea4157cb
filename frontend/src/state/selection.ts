// What the user points at and looks at: the selected box, boxes or partition, the candidate in focus, overlay, tabs, what was found.

import { batch, signal } from "@preact/signals";
import type { NodeCandidate, RuleTree } from "../protocol";

export type Selection =
  | { kind: "none" }
  | { kind: "box"; box: number }
  /** At least two nodes; the last one is the newest, from which arrow keys go on. */
  | { kind: "boxes"; boxes: readonly number[] }
  | { kind: "partition"; id: string };
export type Overlay = "target" | "cost" | "certainty" | "coverage" | "difference" | "search";
export type PanelTab = "why" | "node" | "pins";
export type DrawerTab = "search" | "partitions" | "costs" | "rules" | "totals" | "runs" | "charts" | "compare" | "netron" | "log";

export const OVERLAYS: readonly Overlay[] = ["target", "cost", "certainty", "coverage", "difference", "search"];

export const selection = signal<Selection>({ kind: "none" });
/** The candidate that `p` and `v` are about; null where they are about the selection itself. */
export const focused = signal<NodeCandidate | null>(null);
export const overlay = signal<Overlay>("target");
/** The target whose coverage was asked for; null for the first of the run. */
export const coverageOf = signal<string | null>(null);
export const panelTab = signal<PanelTab>("why");
export const drawerTab = signal<DrawerTab>("search");
export const isDrawerOpen = signal(true);
/** The rule whose rejections are listed; null for none. */
export const listedRule = signal<{ target: string; rule: RuleTree } | null>(null);
/** The comparison lists what is the same in both plans, too. */
export const isAllCompared = signal(false);
export const isHelpOpen = signal(false);
/** Boxes to outline while the pointer is over something that names them. */
export const hovered = signal<ReadonlySet<number>>(new Set());
export const hits = signal<ReadonlySet<number>>(new Set());

const NOTHING: ReadonlySet<number> = new Set();

/** Select a box, a partition or nothing. */
export function select(next: Selection): void {
  batch(() => {
    selection.value = next;
    focused.value = null;
    hovered.value = NOTHING;
    if (next.kind !== "none" && panelTab.value === "pins") panelTab.value = "why";
  });
}

/** Nodes as a selection: nothing, one, or several. */
export function selectionOf(nodes: readonly number[]): Selection {
  const [first] = nodes;
  if (first === undefined) return { kind: "none" };
  return nodes.length === 1 ? { kind: "box", box: first } : { kind: "boxes", boxes: nodes };
}

export function clearSelection(): void {
  select({ kind: "none" });
  hits.value = NOTHING;
}

/** Open a tab of the drawer and leave it open. */
export function showDrawer(tab: DrawerTab): void {
  batch(() => {
    drawerTab.value = tab;
    isDrawerOpen.value = true;
  });
}

/** Open a tab of the drawer; asking for the open one closes the drawer. */
export function openDrawer(tab: DrawerTab): void {
  const isSame = drawerTab.value === tab && isDrawerOpen.value;
  batch(() => {
    drawerTab.value = tab;
    isDrawerOpen.value = !isSame;
  });
}
