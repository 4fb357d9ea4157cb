// Exports the plan: builds the artifact where the run has none, then downloads it.

import { signal } from "@preact/signals";
import { begin } from "../../base/idle";
import { api, asApiError } from "../../data/api";
import { save } from "../download";
import { ended, keptRun, run, runError } from "./run";

/** The phase of the export that is being built; null where there is none. An error is in `runError`. */
export const exporting = signal<string | null>(null);

/** Download the plan and its artifact; build the artifact first where the run has none. */
export async function exportRun(): Promise<void> {
  const current = run.peek();
  if (!current?.plan || exporting.peek() !== null) return;
  const end = begin("export");
  exporting.value = "preparing";
  try {
    if (!current.artifact) await buildArtifact(current.id);
    save(api.exportAddress(current.id));
  } catch (error) {
    runError.value = asApiError(error);
  } finally {
    exporting.value = null;
    end();
  }
}

async function buildArtifact(id: string): Promise<void> {
  const started = await api.makeArtifact(id);
  const done = await ended(started, (now) => (exporting.value = now.phase ?? "preparing"));
  if (keptRun.peek()?.id === id) keptRun.value = done;
  if (!done.artifact && done.error) throw Object.assign(new Error(done.error.message), done.error);
}
