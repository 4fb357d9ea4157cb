// The entry of the page: loads the style, starts the state, then opens the model and the run that the address names.

import { effect } from "@preact/signals";
import { render } from "preact";
import { begin, idle, pending } from "./base/idle";
import { nextFrame } from "./base/long_work";
import { printable } from "./base/printable";
import { startAddress } from "./state/address";
import { startTheme } from "./state/graph/painting";
import { watchDetails } from "./state/model/details";
import { watchFolding } from "./state/model/folding";
import { model } from "./state/model/model";
import { watchStale } from "./state/model/stale";
import { watchCandidates } from "./state/plan/candidates";
import { watchCompare } from "./state/plan/compare";
import { watchDecisions } from "./state/plan/decisions";
import { watchEffects } from "./state/plan/effects";
import { watchOtherTerms } from "./state/plan/other_terms";
import { watchRegrets } from "./state/plan/regrets";
import { watchFollow } from "./state/replay/follow";
import { watchReplay } from "./state/replay/player";
import { watchClock } from "./state/run/clock";
import { watchLog } from "./state/run/log";
import { watchDryRun } from "./state/run/dry_run";
import { watchOptions } from "./state/run/options";
import { watchRuns } from "./state/run/runs";
import { watchSettings } from "./state/settings";
import { watchBodies } from "./state/tables/bodies";
import { watchTable } from "./state/tables/candidates";
import { watchNodeTimes } from "./state/tables/node_times";
import { watchRules } from "./state/tables/rules";
import { watchShapes } from "./state/tables/shapes";
import { watchTotals } from "./state/tables/totals";
import { App } from "./ui/app";
import { startKeys } from "./ui/keys";
import { startPrintableTexts } from "./ui/printable_texts";
import "./style/base.css";
import "./style/layout.css";
import "./style/widgets.css";
import "./style/cards.css";
import "./style/menu.css";
import "./style/panels.css";
import "./style/drawer.css";
import "./style/netron.css";
import "./style/replay.css";
import "./style/overlays.css";
import "./style/tables.css";

declare global {
  interface Window {
    /** For tests: resolves when no request, layout, frame or animation is pending. */
    __collage: { idle: () => Promise<void>; pending: () => string[] };
  }
}

window.__collage = { idle, pending };

const end = begin("start");
const root = document.getElementById("app");
if (!root) throw new Error("the page's shell has no element #app");
startPrintableTexts();
startTheme();
watchCandidates();
watchDecisions();
watchEffects();
watchOtherTerms();
watchSettings();
watchTable();
watchNodeTimes();
watchShapes();
watchTotals();
watchBodies();
watchRuns();
watchRegrets();
watchRules();
watchOptions();
watchDryRun();
watchCompare();
watchDetails();
watchFolding();
watchClock();
watchLog();
watchStale();
watchReplay();
watchFollow();
startKeys();
effect(() => {
  const name = model.value?.info.name;
  document.title = name === undefined ? "Collage Explorer" : `${printable(name)} · Collage Explorer`;
});
// The requests first, so that they are under way, and what is drawn is not replaced at once; the page in a frame of its own.
const opening = startAddress();
void nextFrame()
  .then(() => {
    render(<App />, root);
    return opening;
  })
  .finally(end);
