// What the page displays: the overlay of the graph, the tabs of the panel and the drawer, the list of keys.

import { batch, signal } from "@preact/signals";
import type { RuleTree } from "../data/protocol";

export type Overlay = "target" | "cost" | "certainty" | "coverage" | "difference" | "search";
export type PanelTab = "why" | "node" | "pins";
export type DrawerTab = "search" | "partitions" | "costs" | "rules" | "totals" | "runs" | "charts" | "compare" | "netron" | "log";

export const OVERLAYS: readonly Overlay[] = ["target", "cost", "certainty", "coverage", "difference", "search"];

export const overlay = signal<Overlay>("target");
/** The target whose coverage was asked for; null for the first of the run. */
export const coverageTarget = signal<string | null>(null);
export const panelTab = signal<PanelTab>("why");
export const drawerTab = signal<DrawerTab>("search");
export const isDrawerOpen = signal(true);
/** The rule whose rejections are listed; null for none. */
export const listedRule = signal<{ target: string; rule: RuleTree } | null>(null);
/** The comparison lists what is the same in both plans, too. */
export const isAllCompared = signal(false);
export const isHelpOpen = signal(false);

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
