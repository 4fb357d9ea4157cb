// Starts a run of the open model.

import { signal } from "@preact/signals";
import { api, asApiError, type PageError, type Shapes, type Values } from "../../data/api";
import { indicesOf, parseAccuracy } from "../../data/plan/terms";
import type { OpenInputJson, RunRequest, RunSnapshot } from "../../data/protocol";
import { chosenTargets } from "../model/catalogue";
import { showPlanned } from "../model/file_view";
import { model } from "../model/model";
import { openSource } from "../model/open";
import { constraints, keepRun, terms } from "../plan/decisions";
import { showRulesPage } from "../tables/rules";
import { optionsToRun } from "./options";
import { accuracyText, isActive, runError, showRun, starting } from "./run";

/** Start a run of the open model on the chosen targets, with the present constraints. The server reuses costs that are known. */
export async function runNow(): Promise<void> {
  const current = model.peek();
  if (!current || isActive.peek()) return;
  if (current.info.refusal) {
    if (!askSizes(true)) runError.value = current.info.refusal.error;
    return;
  }
  if (current.file) showPlanned();
  const options = optionsToRun();
  if (!options) {
    showRulesPage("options");
    return;
  }
  const accuracy = parseAccuracy(accuracyText.peek());
  if (accuracy === undefined) {
    runError.value = { code: "accuracy", message: `the accuracy ${accuracyText.peek()} is not a number between 0 and 1`, hint: "write it like 1e-3" };
    return;
  }
  const started = await start({ ...options, model: current.info.id, targets: chosenTargets.peek(), constraints: [...constraints.peek()], groups: indicesOf(terms.peek().groups), accuracy });
  if (started) keepRun(started);
}

interface SizesAsked {
  inputs: readonly OpenInputJson[];
  /** Why those that were given are not right. */
  error: PageError | null;
  /** True if the model is to be run with them at once. */
  runs: boolean;
}

/** The sizes and values that are asked for before a model can be planned; null where none are. */
export const sizesAsked = signal<SizesAsked | null>(null);

/** Ask for the sizes that the open model lacks; false where it lacks none. */
export function askSizes(runs: boolean): boolean {
  const inputs = model.peek()?.info.refusal?.inputs ?? [];
  if (inputs.length > 0) sizesAsked.value = { inputs, error: null, runs };
  return inputs.length > 0;
}

/** Open the model with these sizes and values of its inputs, and run it where that was wanted; where they are not right, ask again. */
export async function openWith(shapes: Shapes, values: Values): Promise<void> {
  const [current, asked] = [model.peek(), sizesAsked.peek()];
  if (!current || !asked) return;
  try {
    const { id } = await api.openModel({ again: current.info.id, shapes, values });
    sizesAsked.value = null;
    await openSource({ kind: "id", id });
    if (asked.runs) await runNow();
  } catch (thrown) {
    const error = asApiError(thrown);
    sizesAsked.value = { ...asked, inputs: error.inputs?.length ? error.inputs : asked.inputs, error };
  }
}

/** Go on with a run that left something undecided: the same again, on the costs that are known by now, with a new budget. */
export async function goOn(run: RunSnapshot): Promise<void> {
  if (isActive.peek()) return;
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
