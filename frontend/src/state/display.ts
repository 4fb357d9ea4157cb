// The display of the page: the overlay of the graph, the tabs of the panel and the drawer, the list of keys.

import { batch, signal } from "@preact/signals";
import type { RuleTree } from "../data/protocol";

export type Overlay = "target" | "cost" | "certainty" | "coverage" | "difference" | "search";
export type PanelTab = "why" | "node" | "pins";
export type DrawerTab = "search" | "partitions" | "costs" | "rules" | "totals" | "runs" | "charts" | "compare" | "netron" | "log";

export const OVERLAYS: readonly Overlay[] = ["target", "cost", "certainty", "coverage", "difference", "search"];

export const overlay = signal<Overlay>("target");
/** The chosen target of the overlay Coverage; null for the first target of the run. */
export const coverageTarget = signal<string | null>(null);
export const panelTab = signal<PanelTab>("why");
export const drawerTab = signal<DrawerTab>("search");
export const isDrawerOpen = signal(true);
/** The rule whose rejections are listed; null for none. */
export const listedRule = signal<{ target: string; rule: RuleTree } | null>(null);
/** Whether the comparison also lists what is the same in both plans. */
export const isAllCompared = signal(false);
export const isHelpOpen = signal(false);

/** Open a tab of the drawer and leave it open. */
export function showDrawer(tab: DrawerTab): void {
  batch(() => {
    drawerTab.value = tab;
    isDrawerOpen.value = true;
  });
}

/** Open a tab of the drawer; close the drawer where that tab is open already. */
export function openDrawer(tab: DrawerTab): void {
  const isSame = drawerTab.value === tab && isDrawerOpen.value;
  batch(() => {
    drawerTab.value = tab;
    isDrawerOpen.value = !isSame;
  });
}
