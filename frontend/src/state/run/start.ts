// Starts a run of the open model.

import { api, asApiError } from "../../data/api";
import { indicesOf, parseAccuracy } from "../../data/plan/terms";
import type { RunRequest, RunSnapshot } from "../../data/protocol";
import { showDrawer } from "../display";
import { chosenTargets } from "../model/catalogue";
import { model } from "../model/model";
import { constraints, keepRun, terms } from "../plan/decisions";
import { showRulesPage } from "../tables/rules";
import { optionsToRun } from "./options";
import { accuracyText, isActive, runError, showRun, starting } from "./run";

/** Start a run of the open model on the chosen targets, with the present constraints. The server reuses costs that are known. */
export async function runNow(): Promise<void> {
  const current = model.peek();
  if (!current || isActive.peek()) return;
  const options = optionsToRun();
  if (!options) {
    showRulesPage("options");
    return;
  }
  showDrawer("search");
  const accuracy = parseAccuracy(accuracyText.peek());
  if (accuracy === undefined) {
    runError.value = { code: "accuracy", message: `the accuracy ${accuracyText.peek()} is not a number between 0 and 1`, hint: "write it like 1e-3" };
    return;
  }
  const started = await start({ ...options, model: current.info.id, targets: chosenTargets.peek(), constraints: [...constraints.peek()], groups: indicesOf(terms.peek().groups), accuracy });
  if (started) keepRun(started);
}

/** Go on with a run that left something undecided: the same again, on the costs that are known by now, with a new budget. */
export async function goOn(run: RunSnapshot): Promise<void> {
  if (isActive.peek()) return;
  showDrawer("search");
  const { model: opened, targets, constraints: held, groups, accuracy, options } = run;
  const started = await start({ ...options, model: opened, targets, constraints: held, groups, accuracy });
  if (started) keepRun(started);
}

async function start(request: RunRequest): Promise<RunSnapshot | null> {
  const requested = api.startRun(request);
  starting.value = requested;
  try {
    const started = await requested;
    showRun(started);
    return started;
  } catch (error) {
    runError.value = asApiError(error);
    return null;
  } finally {
    starting.value = null;
  }
}
