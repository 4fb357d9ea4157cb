// Where the page starts: style, state, then what the address names.

import { effect } from "@preact/signals";
import { render } from "preact";
import { begin, idle, pending } from "./idle";
import { startKeys } from "./keys";
import { watchFollow } from "./replay_follow";
import { watchReplay } from "./replay_player";
import { startAddress } from "./state/address";
import { watchCandidates } from "./state/candidates";
import { watchClock } from "./state/clock";
import { watchCompare } from "./state/compare";
import { watchDecisions } from "./state/decisions";
import { watchEffects } from "./state/effects";
import { watchFolding } from "./state/folding";
import { watchLog } from "./state/log";
import { model } from "./state/model";
import { watchOptions } from "./state/options";
import { startTheme } from "./state/painting";
import { watchStale } from "./state/stale";
import { watchRegrets } from "./state/regrets";
import { watchRuns } from "./state/runs";
import { watchRules } from "./state/rules";
import { watchSettings } from "./state/settings";
import { watchTable } from "./state/table";
import "./style/base.css";
import "./style/layout.css";
import "./style/parts.css";
import "./style/menu.css";
import "./style/panels.css";
import "./style/netron.css";
import "./style/replay.css";
import "./style/tables.css";
import { App } from "./ui/app";

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
startTheme();
watchCandidates();
watchDecisions();
watchEffects();
watchSettings();
watchTable();
watchRuns();
watchRegrets();
watchRules();
watchOptions();
watchCompare();
watchFolding();
watchClock();
watchLog();
watchStale();
watchReplay();
watchFollow();
startKeys();
effect(() => {
  const name = model.value?.info.name;
  document.title = name === undefined ? "Collage Explorer" : `${name} · Collage Explorer`;
});
// Before the first picture, so that the requests are under way, and what is drawn is not replaced at once.
const opening = startAddress();
render(<App />, root);
void opening.finally(end);
