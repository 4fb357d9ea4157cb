// Exports the plan: builds the artifact in the form that is asked for, then downloads it.

import { computed, signal } from "@preact/signals";
import { begin } from "../../base/idle";
import { api, ApiFailure, asApiError } from "../../data/api";
import type { ExportInfo, RunSnapshot } from "../../data/protocol";
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

export type Form = NonNullable<ExportInfo["form"]>;

/** The forms of an artifact, the one that needs least where it runs first. */
export const FORMS: readonly { form: Form; name: string; says: string }[] = [
  { form: "native", name: "The toolchain's own files", says: "load them with that toolchain; nothing of ours is needed" },
  { form: "pieces", name: "A file for each partition", says: "collage-runtime runs them in their order, with the toolchains of the plan; no TVM" },
  { form: "module", name: "One TVM module", says: "for a program that uses TVM already" },
];

/** The first form that the plan can have. */
export function firstForm(whyNot: ExportInfo["why_not"]): Form {
  return FORMS.find(({ form }) => !(form in whyNot))?.form ?? "module";
}

/** True while the dialog is open. */
export const isExportOpen = signal(false);

const chosen = signal<{ run: string; form: Form } | null>(null);

/** The form that the user chose for the artifact of the shown run; null where that was none. */
export const chosenForm = computed(() => (chosen.value?.run === run.value?.id ? (chosen.value?.form ?? null) : null));

/** Choose the form of the artifact of the shown run. */
export function chooseForm(form: Form): void {
  const current = run.peek();
  if (current) chosen.value = { run: current.id, form };
}

/** Download the plan and its artifact; where the run has none in this form, build and check it first. */
export async function exportAs(form: Form, isBuilt: boolean): Promise<void> {
  await going("Export", async ({ id }) => {
    if (isBuilt || (await buildArtifact(id, form))) save(api.exportAddress(id));
  });
}

/** Build the plan of the shown run once more, compare it with the reference, and measure it whole. */
export async function measurePlanAgain(): Promise<void> {
  await going("Measuring", async ({ id }) => void (await buildArtifact(id, null, true)));
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
async function buildArtifact(id: string, form: Form | null, isAgain = false): Promise<boolean> {
  wasCancelled = false;
  const requested = api.makeArtifact(id, form, isAgain);
  const tell = (words: string): void => void (exporting.value = { what: isAgain ? "Measuring" : "Export", words, requested });
  const tellOf = (now: RunSnapshot): void => tell(now.state === "queued" ? `waiting for ${now.waits_for || "another run"}` : (now.phase ?? "preparing"));
  tell("preparing");
  const started = await requested;
  tellOf(started);
  await ended(started, tellOf);
  const done = await api.run(id); // with all that only the final snapshot says of the comparison
  if (keptRun.peek()?.id === id) keptRun.value = done;
  if (done.error) throw new ApiFailure(done.error.code, done.error.message, done.error.hint);
  return done.artifact || !wasCancelled;
}
