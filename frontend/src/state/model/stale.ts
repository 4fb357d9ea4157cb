// Checks if the file of the open model has changed. The page asks when the user comes back to it, and when a run ends or is refused.

import { computed, effect, signal } from "@preact/signals";
import { api } from "../../data/api";
import { hasEnded } from "../../data/run/ended";
import { run, runError } from "../run/run";
import { model } from "./model";

/** The id of the model that was found to be stale; null for none. */
const stale = signal<string | null>(null);

export const isStale = computed(() => model.value !== null && stale.value === model.value.info.id);

/** Ask whenever the answer may have changed. */
export function watchStale(): void {
  effect(() => void (stale.value = model.value?.info.stale ? model.value.info.id : null));
  const ended = computed(() => (run.value && hasEnded(run.value) ? `${run.value.id} ${run.value.state}` : null));
  effect(() => {
    if (ended.value !== null || runError.value?.code === "stale_model") void check();
  });
  window.addEventListener("focus", () => void check());
  document.addEventListener("visibilitychange", () => {
    if (document.visibilityState === "visible") void check();
  });
}

/** Ask now; without an answer from the server nothing changes. */
async function check(): Promise<void> {
  const id = model.peek()?.info.id;
  if (id === undefined) return;
  const info = await api.model(id).catch(() => null);
  if (info) stale.value = info.stale ? id : null;
}
