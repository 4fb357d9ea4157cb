// The display of the page: the overlay of the graph, the tabs of the panel, the rooms and views of the drawer, the list of keys.

import { batch, signal } from "@preact/signals";
import type { RuleTree } from "../data/protocol";

export type Overlay = "target" | "cost" | "certainty" | "coverage" | "difference" | "search";
export type PanelTab = "why" | "node";
/** The views of the drawer, by the question that they answer: what runs where, what if, how did it go. Why and what it is are answered in the panel. */
export const ROOMS = {
  where: ["partitions", "time", "costs", "rules"],
  whatIf: ["pins", "totals", "compare"],
  went: ["search", "charts", "runs", "log"],
} as const;
export type Room = keyof typeof ROOMS;
export type DrawerTab = (typeof ROOMS)[Room][number] | "netron";

export const OVERLAYS: readonly Overlay[] = ["target", "cost", "certainty", "coverage", "difference", "search"];

export const overlay = signal<Overlay>("target");
/** The chosen target of the overlay Coverage; null for the first target of the run. */
export const coverageTarget = signal<string | null>(null);
export const panelTab = signal<PanelTab>("why");
export const drawerTab = signal<DrawerTab>("partitions");
/** The view of each room that was shown last. */
export const lastViews = signal<Readonly<Record<Room, DrawerTab>>>({ where: "partitions", whatIf: "totals", went: "search" });
export const isDrawerOpen = signal(false);
/** The rule whose rejections are listed; null for none. */
export const listedRule = signal<{ target: string; rule: RuleTree } | null>(null);
/** True if the comparison also lists what is the same in both plans. */
export const isAllCompared = signal(false);
export const isHelpOpen = signal(false);

/** The room of a view; undefined for Netron, which is in none. */
export function roomOf(tab: DrawerTab): Room | undefined {
  return (Object.keys(ROOMS) as Room[]).find((room) => (ROOMS[room] as readonly DrawerTab[]).includes(tab));
}

/** True if the drawer is open at one of these tabs. */
export function isShown(...tabs: readonly DrawerTab[]): boolean {
  return isDrawerOpen.value && tabs.includes(drawerTab.value);
}

/** Open a tab of the drawer and leave it open. */
export function showDrawer(tab: DrawerTab): void {
  batch(() => {
    drawerTab.value = tab;
    const room = roomOf(tab);
    if (room) lastViews.value = { ...lastViews.peek(), [room]: tab };
    isDrawerOpen.value = true;
  });
}

/** Open a tab of the drawer; close the drawer where that tab is open already. */
export function openDrawer(tab: DrawerTab): void {
  if (drawerTab.value === tab && isDrawerOpen.value) isDrawerOpen.value = false;
  else showDrawer(tab);
}
