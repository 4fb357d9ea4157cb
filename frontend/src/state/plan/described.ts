// The described toolchain that the user is writing: its check by the server, the saved ones, and the plan that was tried with it.

import { batch, computed, effect, signal } from "@preact/signals";
import { begin } from "../../base/idle";
import { api, asApiError } from "../../data/api";
import { planOfRun } from "../../data/plan/shown_plan";
import { requestOf } from "../../data/plan/terms";
import type { ApiError, Description, DescriptionCheck } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { TEMPLATE } from "../../data/toolchains/description";
import { overlay } from "../display";
import { loadToolchains, switchOn } from "../model/catalogue";
import { model } from "../model/model";
import { ended, isActive, run } from "../run/run";
import { compare } from "./compare";
import { goOnFrom, terms } from "./decisions";
import { tryOut } from "./try_out";

export const descriptionText = signal(TEMPLATE);
export const savedDescriptions = signal<readonly Description[]>([]);
/** The server's reading of the text; null until it is known. */
export const descriptionCheck = signal<DescriptionCheck | null>(null);
export const isTrying = signal(false);
/** The error of a request that failed; null for none. */
export const describedError = signal<ApiError | null>(null);

/** The name of the saved toolchain with this text, or else with this name; null where there is none. */
export const savedName = computed(() => {
  const exact = savedDescriptions.value.find((one) => one.text === descriptionText.value);
  return exact?.name ?? savedDescriptions.value.find((one) => one.name === descriptionCheck.value?.name)?.name ?? null;
});
export const isSaved = computed(() => savedDescriptions.value.some((one) => one.text === descriptionText.value));

/** Why the toolchain cannot be tried now; empty where it can. */
export const whyNotTry = computed(() => {
  if (!run.value?.plan || !hasEnded(run.value)) return "It is tried with the costs of a run: run first.";
  if (isActive.value) return "A run goes on.";
  if (!descriptionCheck.value || descriptionCheck.value.mistake) return "Its description has a mistake, or is not checked yet.";
  return descriptionCheck.value.has_cost ? "" : "It has no [cost], so its time cannot be estimated.";
});

const PAUSE_MS = 250;
let newest = 0;
let isWatched = false;

/** Fetch the saved toolchains, and from now on check the text a moment after each change. */
export function watchDescription(): void {
  if (isWatched) return;
  isWatched = true;
  void refreshSaved();
  effect(() => {
    const asked = descriptionText.value;
    const mine = ++newest;
    const end = begin("description");
    setTimeout(() => {
      const answer = mine === newest ? read(asked, mine) : Promise.resolve();
      void answer.finally(end);
    }, PAUSE_MS);
  });
  effect(() => {
    const plan = run.value?.plan;
    if (tryOut.peek() && tryOut.peek()?.before.plan !== plan) forget();
  });
}

async function read(asked: string, mine: number): Promise<void> {
  try {
    const found = await api.checkDescription(asked);
    if (mine === newest) batch(() => ((descriptionCheck.value = found), (describedError.value = null)));
  } catch (error) {
    if (mine === newest) batch(() => ((descriptionCheck.value = null), (describedError.value = asApiError(error))));
  }
}

async function refreshSaved(): Promise<void> {
  const list = await api.descriptions().catch(() => null);
  if (list) savedDescriptions.value = list.toolchains;
}

/** Replace the text by a saved one, or by the template. */
export function startDescription(name: string | null): void {
  descriptionText.value = savedDescriptions.value.find((one) => one.name === name)?.text ?? TEMPLATE;
}

export function writeDescription(next: string): void {
  descriptionText.value = next;
}

/** Do something that the server may refuse, and show its error. */
async function attempt(action: () => Promise<void>): Promise<void> {
  describedError.value = null;
  try {
    await action();
  } catch (error) {
    describedError.value = asApiError(error);
  }
}

/** Save the text under its name; from then on it is a target like any other. */
export function saveDescription(): Promise<void> {
  return attempt(async () => {
    const { name } = await api.saveDescription(descriptionText.peek());
    await Promise.all([refreshSaved(), loadToolchains()]);
    switchOn(name);
  });
}

export function deleteSaved(name: string): Promise<void> {
  return attempt(async () => {
    await api.deleteDescription(name);
    await Promise.all([refreshSaved(), loadToolchains()]);
  });
}

/** Search again with the toolchain, beside the costs of the shown run; the result is drawn as a difference. */
export function tryDescription(): Promise<void> {
  const before = run.peek();
  const opened = model.peek();
  const name = descriptionCheck.peek()?.name;
  if (!before || !opened || !name || isTrying.peek() || whyNotTry.peek() !== "") return Promise.resolve();
  discardTried();
  isTrying.value = true;
  return attempt(async () => {
    const wanted = requestOf(before, terms.peek());
    const targets = wanted.targets.filter((one) => one !== name);
    const started = await api.startRun({ ...wanted, model: opened.info.id, targets, base: before.id, toolchain: descriptionText.peek() });
    await ended(started);
    const after = await api.run(started.id);
    if (!after.plan) throw Object.assign(new Error(after.error?.message ?? `the search was ${after.state}`), { hint: after.error?.hint ?? "" });
    if (run.peek()?.plan !== before.plan) return;
    const change = await api.compare("", { first: planOfRun(after), second: planOfRun(before) });
    await api.markRun(after.id, { name: `the plan with ${name}` });
    batch(() => {
      tryOut.value = { name, before, after, change, overlay: overlay.peek() };
      compare(after.id, "");
      overlay.value = "difference";
    });
  }).finally(() => (isTrying.value = false));
}

/** Go on with the tried plan; undo brings the one before back. */
export function keepTried(): void {
  const found = tryOut.peek();
  if (!found) return;
  batch(() => {
    forget();
    goOnFrom(found.after, terms.peek());
  });
}

/** Drop the tried plan. */
export function discardTried(): void {
  const found = tryOut.peek();
  if (!found) return;
  forget();
  void api.deleteRun(found.after.id).catch(() => undefined); // then it stays in the list of runs
}

function forget(): void {
  const found = tryOut.peek();
  if (!found) return;
  batch(() => {
    tryOut.value = null;
    compare("", null);
    if (overlay.peek() === "difference") overlay.value = found.overlay;
  });
}
