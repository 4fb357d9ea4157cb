// The drawer at the bottom, with a tab each for the search, the partitions, the costs of all candidates, toolchains and their rules, the
// totals, all runs, the comparison of two plans, charts, Netron and the log.

import type { JSX } from "preact";
import { drawerTab, type DrawerTab, isDrawerOpen, openDrawer } from "../../state/display";
import { run } from "../../state/run/run";
import { later } from "../widgets/lazy";
import { type TabItem, Tabs } from "../widgets/tabs";
import { CompareTab } from "./compare";
import { CostsTab } from "./costs";
import { LogTab } from "./log";
import { PartitionsTab } from "./partitions";
import { RunsTab } from "./runs";
import { SearchTab, RunStatus } from "./search/search";
import { TotalsTab } from "./totals";

const BODY: Record<DrawerTab, () => JSX.Element> = {
  search: SearchTab,
  partitions: PartitionsTab,
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

function tabItems(): TabItem<DrawerTab>[] {
  const partitions = run.value?.plan?.partitions.length ?? 0;
  const notes = (run.value?.notes.length ?? 0) + (run.value?.error ? 1 : 0);
  return [
    { id: "search", label: "Search" },
    { id: "partitions", label: "Partitions", ...(partitions > 0 && { note: String(partitions) }) },
    { id: "costs", label: "Costs" },
    { id: "rules", label: "Toolchains & rules" },
    { id: "totals", label: "Totals" },
    { id: "runs", label: "Runs" },
    { id: "compare", label: "Compare" },
    { id: "charts", label: "Charts" },
    { id: "netron", label: "Netron" },
    { id: "log", label: "Log", ...(notes > 0 && { note: String(notes) }) },
  ];
}

export function Drawer(): JSX.Element {
  const Body = BODY[drawerTab.value];
  const isOpen = isDrawerOpen.value;
  return (
    <section class={["drawer", isOpen ? "" : "closed", isOpen && TALL.has(drawerTab.value) ? "tall" : ""].filter(Boolean).join(" ")} aria-label="Run">
      <div class="drawer-head">
        <Tabs label="Run" tabs={tabItems()} chosen={isOpen ? drawerTab.value : null} controls="drawer-body" choose={openDrawer} />
        <span class="spacer" />
        <RunStatus />
        <button type="button" class="plain" aria-expanded={isOpen} aria-controls="drawer-body" aria-label={isOpen ? "Close the drawer" : "Open the drawer"} onClick={() => openDrawer(drawerTab.value)}>
          {isOpen ? "▾" : "▴"}
        </button>
      </div>
      {isOpen && (
        <div class="drawer-body" id="drawer-body" role="tabpanel" tabIndex={0} aria-label={drawerTab.value}>
          <Body />
        </div>
      )}
    </section>
  );
}
