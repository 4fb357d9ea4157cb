// What the server offers before anything is opened: toolchains, samples, models that were opened before.

import { batch, computed, signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import type { ApiError, ModelInfo, SampleInfo, Storage, ToolchainInfo } from "../../data/protocol";
import { freeLetter, targetStyle, type TargetStyle } from "../../data/toolchains/target_style";

export const toolchains = signal<ToolchainInfo[]>([]);
export const samples = signal<SampleInfo[]>([]);
export const models = signal<ModelInfo[]>([]);
/** Where everything is kept, and how much it is; null until it is known. */
export const storage = signal<Storage | null>(null);
/** Why the lists could not be had; null where they are there or on their way. */
export const catalogueError = signal<ApiError | null>(null);

/** Names of the toolchains that the user switched off. */
export const switchedOff = signal<ReadonlySet<string>>(new Set());

/** The targets of the next run: what is usable and switched on, in the toolchains' order. */
export const chosenTargets = computed(() => toolchains.value.filter((one) => one.usable && !switchedOff.value.has(one.name)).map((one) => one.name));

const letters = computed(() => new Map(toolchains.value.map((one) => [one.name, one.letter])));

/** How a target looks; its letter is the toolchain's own, or for one that is only tried, a free one. */
export function styleOf(target: string): TargetStyle {
  const known = styles.value.get(target);
  if (known) return known;
  const made = targetStyle(target, letters.value.get(target) ?? freeLetter(target, new Set(letters.value.values())));
  styles.value.set(target, made);
  return made;
}

/** Made once for each target: every node asks. */
export const styles = computed(() => (void letters.value, new Map<string, TargetStyle>()));

let loadingSamples: Promise<void> | undefined;

/** Fetch the lists, each shown when it is there. */
export async function loadCatalogue(): Promise<void> {
  catalogueError.value = null;
  await Promise.all([loadModels(), loadToolchains()]);
}

/** Fetch the samples and the models that were opened before. */
export async function loadModels(): Promise<void> {
  loadingSamples = shown(api.samples(), (answer) => (samples.value = answer.samples));
  await Promise.all([loadingSamples, shown(api.models(), (answer) => (models.value = answer.models))]);
}

/** The recorded run that comes with a sample, as soon as the list says so. */
export async function recordedRun(name: string): Promise<string | undefined> {
  await loadingSamples;
  return samples.value.find((sample) => sample.name === name)?.recorded ?? undefined;
}

/** Ask which toolchains there are. They are imported for that, which takes a second or more: nothing should wait for it. */
export async function loadToolchains(): Promise<void> {
  await shown(api.toolchains(), (answer) => adopt(answer.toolchains));
}

async function shown<T>(asked: Promise<T>, show: (answer: T) => void): Promise<void> {
  try {
    show(await asked);
  } catch (error) {
    catalogueError.value = asApiError(error);
  }
}

/** The list as it is now; what is only described takes no part before somebody wants it. */
function adopt(found: ToolchainInfo[]): void {
  const known = new Set(toolchains.value.map((one) => one.name));
  const off = found.filter((one) => one.described && !known.has(one.name)).map((one) => one.name);
  batch(() => {
    toolchains.value = found;
    switchedOff.value = new Set([...switchedOff.value, ...off]);
  });
}

/** Have a target take part in the next run. */
export function switchOn(name: string): void {
  switchedOff.value = new Set([...switchedOff.value].filter((one) => one !== name));
}

/** Fetch how much is kept. What cannot be had is not shown. */
export async function loadStorage(): Promise<void> {
  storage.value = await api.storage().catch(() => null);
}

/** Fetch the list of models again: one more was opened. A list that cannot be had is no reason to disturb. */
export async function refreshModels(): Promise<void> {
  const opened = await api.models().catch(() => null);
  if (opened) models.value = opened.models;
}
