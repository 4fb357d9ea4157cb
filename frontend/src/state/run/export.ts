// Exports the plan: builds the artifact where the run has none, then downloads it.

import { signal } from "@preact/signals";
import { begin } from "../../base/idle";
import { api, asApiError } from "../../data/api";
import type { RunSnapshot } from "../../data/protocol";
import { save } from "../download";
import { cancelOnceStarted, ended, keptRun, run, runError } from "./run";

export interface Exporting {
  what: "Export" | "Measuring";
  /** The phase of the export, or what it waits for. */
  words: string;
  /** The run whose artifact is being built, once the server has answered; null while nothing is to be built. */
  requested: Promise<RunSnapshot> | null;
}

/** The export that is going on; null where there is none. An error is in `runError`. */
export const exporting = signal<Exporting | null>(null);

/** Download the plan and its artifact; build the artifact first where the run has none. */
export async function exportRun(): Promise<void> {
  await going("Export", async ({ id, artifact }) => {
    if (artifact || (await buildArtifact(id))) save(api.exportAddress(id));
  });
}

/** Build the plan of the shown run once more, compare it with the reference, and measure it whole. */
export async function measurePlanAgain(): Promise<void> {
  await going("Measuring", async ({ id }) => void (await buildArtifact(id, true)));
}

async function going(what: Exporting["what"], work: (current: RunSnapshot) => Promise<void>): Promise<void> {
  const current = run.peek();
  if (!current?.plan || exporting.peek() !== null) return;
  const end = begin("export");
  exporting.value = { what, words: "preparing", requested: null };
  try {
    await work(current);
  } catch (error) {
    runError.value = asApiError(error);
  } finally {
    exporting.value = null;
    end();
  }
}

/** Stop building, or waiting; nothing is downloaded then. */
export async function cancelExport(): Promise<void> {
  const going = exporting.peek();
  if (!going) return;
  wasCancelled = true;
  await cancelOnceStarted(going.requested);
}

let wasCancelled = false;

/** Build the artifact; the answer is false where the user has stopped that. */
async function buildArtifact(id: string, isAgain = false): Promise<boolean> {
  wasCancelled = false;
  const requested = api.makeArtifact(id, isAgain);
  const tell = (words: string): void => void (exporting.value = { what: isAgain ? "Measuring" : "Export", words, requested });
  const tellOf = (now: RunSnapshot): void => tell(now.state === "queued" ? `waiting for ${now.waits_for || "another run"}` : (now.phase ?? "preparing"));
  tell("preparing");
  const started = await requested;
  tellOf(started);
  await ended(started, tellOf);
  const done = await api.run(id); // with all that only the final snapshot says of the comparison
  if (keptRun.peek()?.id === id) keptRun.value = done;
  if (done.error) throw Object.assign(new Error(done.error.message), done.error);
  return done.artifact || !wasCancelled;
}
