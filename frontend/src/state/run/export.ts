// Exports the plan: builds the artifact where the run has none in the form that is asked for, then downloads it.

import { computed, signal } from "@preact/signals";
import { begin } from "../../base/idle";
import { api, ApiFailure, asApiError } from "../../data/api";
import type { ArtifactRequest, RunSnapshot } from "../../data/protocol";
import { save } from "../download";
import { cancelOnceStarted, ended, keptRun, run, runError } from "./run";

export type AskedForm = NonNullable<ArtifactRequest["form"]>;

export interface Exporting {
  what: "Export" | "Measuring";
  /** The phase of the export, or what it waits for. */
  words: string;
  /** The run whose artifact is being built, once the server has answered; null while nothing is to be built. */
  requested: Promise<RunSnapshot> | null;
}

/** The export that is going on; null where there is none. An error is in `runError`. */
export const exporting = signal<Exporting | null>(null);

/** The forms of an artifact, and what each needs where it runs. */
export const FORMS: readonly { form: AskedForm; needs: string }[] = [
  { form: "auto", needs: "as little as this plan can do with: the first of native, pieces and module that it can have" },
  { form: "native", needs: "the toolchain's own files, no package of ours" },
  { form: "pieces", needs: "collage-runtime" },
  { form: "module", needs: "TVM" },
];

/** The needs of a form where the artifact runs; why this plan cannot have it, where it cannot; and which one `auto` is. */
export function formText({ form, needs }: (typeof FORMS)[number], whyNot: Readonly<Record<string, string>>): string {
  if (form === "auto") return `${needs}, here ${["native", "pieces"].find((one) => !(one in whyNot)) ?? "module"}`;
  const reason = whyNot[form];
  return reason === undefined ? needs : `not of this plan, since ${reason}`;
}

const chosen = signal<{ run: string; form: AskedForm } | null>(null);

/** The form that the user chose for the artifact of the shown run; null where that was none. */
export const chosenForm = computed(() => (chosen.value?.run === run.value?.id ? (chosen.value?.form ?? null) : null));

/** Choose the form of the artifact of the shown run; the next export builds it, unless it is there. */
export function chooseForm(form: AskedForm): void {
  const current = run.peek();
  if (current) chosen.value = { run: current.id, form };
}

/** Download the plan and its artifact; build the artifact first where the run has none in the chosen form. */
export async function exportRun(): Promise<void> {
  const form = chosenForm.peek();
  await going("Export", async ({ id, artifact }) => {
    if ((artifact && form === null) || (await buildArtifact(id, form))) save(api.exportAddress(id));
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
async function buildArtifact(id: string, form: AskedForm | null, isAgain = false): Promise<boolean> {
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
