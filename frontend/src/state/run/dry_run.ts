// The dry run of the next run, what it would build and about how long that takes: asked for a moment after a model is open or a target is chosen, as long
// as no run is shown; else when somebody wants to know.

import { computed, effect, signal } from "@preact/signals";
import { api } from "../../data/api";
import type { DryRun, RunRequest } from "../../data/protocol";
import { chosenTargets } from "../model/catalogue";
import { model } from "../model/model";
import { constraints } from "../plan/decisions";
import { form, optionsToRun, problems } from "./options";
import { isActive, run } from "./run";

const PAUSE_MS = 1500;

/** The newest answer, the request that it is for, and the reason where nobody knows; null where nothing was asked. */
const known = signal<{ key: string; dryRun: DryRun | null; reason: string } | null>(null);

const request = computed((): RunRequest | null => {
  const current = model.value;
  const targets = chosenTargets.value;
  const options = form.value && problems.value && current && targets.length > 0 ? optionsToRun() : null; // both are read, so that it follows them
  return current && options && !current.info.refusal ? { ...options, model: current.info.id, targets, constraints: [...constraints.value] } : null;
});
const key = computed(() => JSON.stringify(request.value));

/** The dry run of the run that would be started now; null where it is not known yet, with the reason where it cannot be. */
export const dryRun = computed(() => (known.value?.key === key.value ? known.value : null));

/** Ask for the dry run, unless it is known. */
export async function askDryRun(): Promise<void> {
  const [asked, mine] = [request.peek(), key.peek()];
  if (!asked || isActive.peek() || dryRun.peek()?.dryRun) return;
  const { dry_run, reason } = await api.dryRun(asked).catch(() => ({ dry_run: null, reason: "the server does not answer" }));
  if (mine === key.peek()) known.value = { key: mine, dryRun: dry_run, reason };
}

/** Ask by itself where no run is shown. */
export function watchDryRun(): void {
  effect(() => {
    if (run.value !== null || isActive.value || request.value === null || key.value === "") return;
    const timer = setTimeout(() => void askDryRun(), PAUSE_MS);
    return () => clearTimeout(timer);
  });
}
