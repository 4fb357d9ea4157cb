// Starts a run of the open model.

import { drawerTab, isDrawerOpen } from "../display";
import { model } from "../model/model";
import { constraints, keepRun } from "../plan/decisions";
import { showPart } from "../tables/rules";
import { optionsToRun } from "./options";
import { isActive, startRun } from "./run";

/** Start a run of the open model on the chosen targets, with the present constraints. */
export async function runNow(): Promise<void> {
  const current = model.peek();
  if (!current || isActive.peek()) return;
  const options = optionsToRun();
  if (!options) {
    showPart("options");
    return;
  }
  drawerTab.value = "search";
  isDrawerOpen.value = true;
  const started = await startRun(current.info.id, [...constraints.peek()], options);
  if (started) keepRun(started);
}

