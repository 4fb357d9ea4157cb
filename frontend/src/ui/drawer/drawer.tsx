// The drawer at the bottom, with a tab each for the plan (its partitions, the time inside them, totals, comparison and charts), the costs of all candidates, the
// search, toolchains and their rules, all runs and the log. Netron has a tab as long as it is open.

import type { JSX, RefObject } from "preact";
import { useRef } from "preact/hooks";
import { count } from "../../base/format";
import { isReport } from "../../data/config";
import { asPlanTab, drawerTab, type DrawerTab, isDrawerOpen, openDrawer, planTab, type PlanTab, showDrawer } from "../../state/display";
import { model } from "../../state/model/model";
import { isActive, run } from "../../state/run/run";
import { later, useIsDrawn } from "../widgets/lazy";
import { type TabItem, Tabs } from "../widgets/tabs";
import { CompareTab } from "./compare";
import { CostsTab } from "./costs";
import { LogTab } from "./log";
import { PartitionsTab } from "./partitions";
import { RunsTab } from "./runs";
import { SearchTab, RunStatus } from "./search/search";
import { TimeTab } from "./time";
import { TotalsTab } from "./totals";

const BODY: Record<DrawerTab, () => JSX.Element> = {
  search: SearchTab,
  partitions: PartitionsTab,
  time: TimeTab,
  costs: CostsTab,
  rules: later(() => import("./rules/rules").then((part) => part.RulesTab)),
  totals: TotalsTab,
  runs: RunsTab,
  charts: later(() => import("./charts").then((part) => part.ChartsTab)),
  compare: CompareTab,
  netron: later(() => import("./netron").then((part) => part.NetronTab)),
  log: LogTab,
};

/** Tabs that make the drawer high; their own content scrolls, and not the drawer. */
const TALL: ReadonlySet<DrawerTab> = new Set<DrawerTab>(["costs", "rules", "runs", "charts", "compare", "netron", "log"]);

/** Tabs that are as high as their content, up to the height of the others: one row does not take a third of the window. */
const FITTING: ReadonlySet<DrawerTab> = new Set<DrawerTab>(["partitions", "time", "totals", "costs", "runs", "compare"]);

/** A tab that is always there: one of the drawer's own, or that of all views of the plan. */
type HeadTab = Exclude<DrawerTab, PlanTab> | "plan";

function tabItems(): TabItem<HeadTab>[] {
  const notes = (run.value?.notes.length ?? 0) + (run.value?.error ? 1 : 0);
  return [
    { id: "plan", label: "Plan" },
    { id: "costs", label: "Costs" },
    { id: "search", label: "Search" },
    { id: "rules", label: "Toolchains" },
    ...(isReport ? [] : [{ id: "runs" as const, label: "Runs" }]),
    { id: "log", label: "Log", ...(notes > 0 && { note: String(notes) }) },
    ...(drawerTab.value === "netron" ? [{ id: "netron" as const, label: "Netron" }] : []),
  ];
}

function planItems(): TabItem<PlanTab>[] {
  const partitions = run.value?.plan?.partitions.length ?? 0;
  return [
    { id: "partitions", label: "Partitions", ...(partitions > 0 && { note: count(partitions) }) },
    { id: "time", label: "Time" },
    { id: "totals", label: "Totals" },
    { id: "compare", label: "Compare" },
    { id: "charts", label: "Charts" },
  ];
}

function choose(tab: HeadTab): void {
  openDrawer(tab === "plan" ? (asPlanTab(drawerTab.peek()) ?? planTab.peek()) : tab);
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
  const view = asPlanTab(drawerTab.value);
  const head: HeadTab = drawerTab.value === view ? "plan" : (drawerTab.value as Exclude<DrawerTab, PlanTab>);
  return (
    <section ref={steady.ref} style={steady.style} class={["drawer", isOpen ? "" : "closed", isOpen && TALL.has(drawerTab.value) ? "tall" : "", isOpen && FITTING.has(drawerTab.value) ? "fitting" : ""].filter(Boolean).join(" ")} aria-label="Run">
      <div class="drawer-head">
        <Tabs label="Run" tabs={tabItems()} chosen={isOpen ? head : null} controls="drawer-body" choose={choose} />
        {isOpen && view && (
          <div class="plan-views">
            <Tabs label="Plan" tabs={planItems()} chosen={view} controls="drawer-body" choose={showDrawer} />
          </div>
        )}
        <span class="spacer" />
        <RunStatus />
        <button type="button" class="plain" aria-expanded={isOpen} aria-controls="drawer-body" aria-label={isOpen ? "Close the drawer" : "Open the drawer"} onClick={() => openDrawer(drawerTab.value)}>
          {isOpen ? "▾" : "▴"}
        </button>
      </div>
      {isOpen && (
        <div class="drawer-body" id="drawer-body" role="tabpanel" tabIndex={0} aria-label={drawerTab.value}>
          {isDrawn && <Body />}
        </div>
      )}
    </section>
  );
}
