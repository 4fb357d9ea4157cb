// The options of the next run as they are typed, and their problems; the server checks them a moment after the last change.

import { computed, effect, signal } from "@preact/signals";
import { begin } from "../../base/idle";
import { api } from "../../data/api";
import { parseAccuracy } from "../../data/plan/terms";
import type { OptionProblem, RunOptions } from "../../data/protocol";
import { ALL, DEFAULTS, fieldOf, formOf, isDefault, NOTHING_SAID, readForm, withoutDashes, type Form, type TargetTexts } from "../../data/run/options_form";
import { chosenTargets } from "../model/catalogue";
import { accuracyText } from "./run";

export const form = signal<Form>(DEFAULTS);
const refused = signal<readonly OptionProblem[]>([]);

const read = computed(() => readForm(form.value, chosenTargets.value));

/** The problem of each field that has one. */
export const problems = computed(
  () => new Map([...refused.value.map((one): [string, string] => [fieldOf(one), [withoutDashes(one.message), one.hint].filter(Boolean).join("; ")]), ...read.value.mistakes]),
);

/** True if an option differs from the defaults. */
export const isChanged = computed(() => !isDefault(form.value) || accuracyText.value.trim() !== "");

export function changeForm(part: Partial<Form>): void {
  form.value = { ...form.value, ...part };
}

export function changeTarget(target: string, part: Partial<TargetTexts>): void {
  const said = form.value.targets[target] ?? NOTHING_SAID;
  changeForm({ targets: { ...form.value.targets, [target]: { ...said, ...part } } });
}

export function resetOptions(): void {
  form.value = DEFAULTS;
  accuracyText.value = "";
}

/** Copy the options of a run into the form. */
export function takeOver(options: RunOptions): void {
  form.value = formOf(options);
  accuracyText.value = options.accuracy === null || options.accuracy === undefined ? "" : String(options.accuracy);
}

/** The options of a run that starts now; null where one has a problem, which its field shows. */
export function optionsToRun(): RunOptions | null {
  return problems.peek().size === 0 ? read.peek().options : null;
}

const PAUSE_MS = 200;
let newest = 0;

/** Let the server check the options a moment after each change. */
export function watchOptions(): void {
  effect(() => {
    const targets = chosenTargets.value;
    const { options } = read.value;
    const accuracy = parseAccuracy(accuracyText.value) ?? null;
    const mine = ++newest;
    if (targets.length === 0 || isDefault(form.value)) {
      refused.value = [];
      return;
    }
    const end = begin("options");
    setTimeout(() => {
      if (mine !== newest) {
        end();
        return;
      }
      void api
        .checkOptions({ targets, ...options, accuracy })
        .then(({ problems: found }) => {
          if (mine === newest) refused.value = found;
        })
        .catch(() => undefined) // other places report a server that does not answer; starting a run checks the options again
        .finally(end);
    }, PAUSE_MS);
  });
}

/** The rows of the form: one for all others, then one for each target of the next run. */
export const formTargets = computed(() => [ALL, ...chosenTargets.value]);
