// The display of the page: the overlay of the graph, the tabs of the panel and the drawer, the list of keys.

import { batch, signal } from "@preact/signals";
import type { RuleTree } from "../data/protocol";

export type Overlay = "target" | "cost" | "certainty" | "coverage" | "difference" | "search";
export type PanelTab = "why" | "node" | "pins";
/** The tabs of the plan: views of one thing, which share a tab of the drawer. */
export const PLAN_TABS = ["partitions", "time", "totals", "compare", "charts"] as const;
export type PlanTab = (typeof PLAN_TABS)[number];
export type DrawerTab = PlanTab | "costs" | "search" | "rules" | "runs" | "log" | "netron";

export const OVERLAYS: readonly Overlay[] = ["target", "cost", "certainty", "coverage", "difference", "search"];

export const overlay = signal<Overlay>("target");
/** The chosen target of the overlay Coverage; null for the first target of the run. */
export const coverageTarget = signal<string | null>(null);
export const panelTab = signal<PanelTab>("why");
export const drawerTab = signal<DrawerTab>("partitions");
/** The view of the plan that was shown last. */
export const planTab = signal<PlanTab>("partitions");
export const isDrawerOpen = signal(true);
/** The rule whose rejections are listed; null for none. */
export const listedRule = signal<{ target: string; rule: RuleTree } | null>(null);
/** True if the comparison also lists what is the same in both plans. */
export const isAllCompared = signal(false);
export const isHelpOpen = signal(false);

/** The view of the plan that a tab is; undefined for another tab. */
export function asPlanTab(tab: DrawerTab): PlanTab | undefined {
  return PLAN_TABS.find((one) => one === tab);
}

/** Open a tab of the drawer and leave it open. */
export function showDrawer(tab: DrawerTab): void {
  batch(() => {
    drawerTab.value = tab;
    planTab.value = asPlanTab(tab) ?? planTab.value;
    isDrawerOpen.value = true;
  });
}

/** Open a tab of the drawer; close the drawer where that tab is open already. */
export function openDrawer(tab: DrawerTab): void {
  if (drawerTab.value === tab && isDrawerOpen.value) isDrawerOpen.value = false;
  else showDrawer(tab);
}
