// The drawer at the bottom: a tab for each question about the plan and its run, and in it a tab for each view that answers it. Netron has a tab as long as it is open.

import type { JSX, RefObject } from "preact";
import { useRef } from "preact/hooks";
import { count } from "../../base/format";
import { isReport } from "../../data/config";
import { drawerTab, type DrawerTab, isDrawerOpen, lastViews, openDrawer, type Room, roomOf, ROOMS, showDrawer } from "../../state/display";
import { model } from "../../state/model/model";
import { termCount } from "../../state/plan/decisions";
import { isActive, run } from "../../state/run/run";
import { later, useIsDrawn } from "../widgets/lazy";
import { type TabItem, Tabs } from "../widgets/tabs";
import { PartitionsTab } from "./partitions";
import { SearchTab, RunStatus } from "./search/search";

const BODY: Record<DrawerTab, () => JSX.Element> = {
  search: SearchTab,
  partitions: PartitionsTab,
  time: later(() => import("./time").then((part) => part.TimeTab)),
  costs: later(() => import("./costs").then((part) => part.CostsTab)),
  rules: later(() => import("./rules/rules").then((part) => part.RulesTab)),
  pins: later(() => import("./pins").then((part) => part.PinsTab)),
  totals: later(() => import("./totals").then((part) => part.TotalsTab)),
  runs: later(() => import("./runs").then((part) => part.RunsTab)),
  charts: later(() => import("./charts").then((part) => part.ChartsTab)),
  compare: later(() => import("./compare").then((part) => part.CompareTab)),
  netron: later(() => import("./netron").then((part) => part.NetronTab)),
  log: later(() => import("./log").then((part) => part.LogTab)),
};

/** Tabs that make the drawer high; their own content scrolls, and not the drawer. */
const TALL: ReadonlySet<DrawerTab> = new Set<DrawerTab>(["costs", "rules", "runs", "charts", "compare", "netron", "log"]);

/** Tabs that are as high as their content, up to the height of the others: one row does not take a third of the window. */
const FITTING: ReadonlySet<DrawerTab> = new Set<DrawerTab>(["partitions", "time", "pins", "totals", "costs", "runs", "compare"]);

const ROOM_NAME: Record<Room, string> = { where: "What runs where", whatIf: "What if", went: "How it went" };
const VIEW_NAME: Record<DrawerTab, string> = {
  partitions: "Partitions",
  time: "Time",
  costs: "Costs",
  rules: "Toolchains",
  pins: "Pins",
  totals: "Totals",
  compare: "Compare",
  search: "Search",
  charts: "Charts",
  runs: "Runs",
  log: "Log",
  netron: "Netron",
};

function noted<T extends string>(id: T, label: string, number: number): TabItem<T> {
  return { id, label, ...(number > 0 && { note: count(number) }) };
}

function rooms(): TabItem<Room | "netron">[] {
  const pins = noted("whatIf" as const, ROOM_NAME.whatIf, termCount.value);
  const all = [noted("where" as const, ROOM_NAME.where, 0), pins, noted("went" as const, ROOM_NAME.went, 0)];
  return drawerTab.value === "netron" ? [...all, noted("netron", VIEW_NAME.netron, 0)] : all;
}

function viewsOf(room: Room): TabItem<DrawerTab>[] {
  const notes: Partial<Record<DrawerTab, number>> = {
    partitions: run.value?.plan?.partitions.length ?? 0,
    pins: termCount.value,
    log: (run.value?.notes.length ?? 0) + (run.value?.error ? 1 : 0),
  };
  return ROOMS[room].filter((view) => !isReport || (view !== "pins" && view !== "runs")).map((view) => noted(view, VIEW_NAME[view], notes[view] ?? 0));
}

/** The drawer's element, and the height that it keeps where another plan of the same model is shown: that must not move the graph's nodes. */
function useSteadyHeight(): { ref: RefObject<HTMLElement | null>; style: { height: string } | undefined } {
  const ref = useRef<HTMLElement>(null);
  const shown = useRef<{ key: string; plan: unknown; height: number | null }>({ key: "", plan: null, height: null });
  const key = [drawerTab.value, isDrawerOpen.value, model.value?.info.id, isActive.value].join(" ");
  const plan = run.value?.plan ?? null;
  const last = shown.current;
  if (last.key !== key) shown.current = { key, plan, height: null };
  else if (last.plan !== plan) shown.current = { key, plan, height: last.height ?? ref.current?.offsetHeight ?? null };
  const { height } = shown.current;
  return { ref, style: isDrawerOpen.value && height !== null ? { height: `${height}px` } : undefined };
}

export function Drawer(): JSX.Element {
  const steady = useSteadyHeight();
  const Body = BODY[drawerTab.value];
  const isDrawn = useIsDrawn();
  const isOpen = isDrawerOpen.value;
  const room = roomOf(drawerTab.value);
  return (
    <section ref={steady.ref} style={steady.style} class={["drawer", isOpen ? "" : "closed", isOpen && TALL.has(drawerTab.value) ? "tall" : "", isOpen && FITTING.has(drawerTab.value) ? "fitting" : ""].filter(Boolean).join(" ")} aria-label="Run">
      <div class="drawer-head">
        <Tabs label="Run" tabs={rooms()} chosen={isOpen ? (room ?? "netron") : null} controls="drawer-body" choose={(id) => openDrawer(id === room || id === "netron" ? drawerTab.peek() : lastViews.peek()[id])} />
        {isOpen && room && (
          <div class="room-views">
            <Tabs label={ROOM_NAME[room]} tabs={viewsOf(room)} chosen={drawerTab.value} controls="drawer-body" choose={showDrawer} />
          </div>
        )}
        <span class="spacer" />
        <RunStatus />
        <button type="button" class="plain" aria-expanded={isOpen} aria-controls="drawer-body" aria-label={isOpen ? "Close the drawer" : "Open the drawer"} onClick={() => openDrawer(drawerTab.value)}>
          {isOpen ? "▾" : "▴"}
        </button>
      </div>
      {isOpen && (
        <div class="drawer-body" id="drawer-body" role="tabpanel" tabIndex={0} aria-label={VIEW_NAME[drawerTab.value]}>
          {isDrawn && <Body />}
        </div>
      )}
    </section>
  );
}
