// The lists that the server offers before a model is open: toolchains, samples, and models that were opened before.

import { batch, computed, signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import type { ApiError, ModelInfo, ModelList, PlanResult, SampleInfo, Storage, ToolchainInfo } from "../../data/protocol";
import { targetStyles, type TargetStyle } from "../../data/toolchains/target_style";

export const toolchains = signal<ToolchainInfo[]>([]);
export const samples = signal<SampleInfo[]>([]);
export const models = signal<ModelInfo[]>([]);
/** The best result of each model that has one, by the model's id. */
export const results = signal<Readonly<Record<string, PlanResult>>>({});
/** The folder in which everything is kept, and its size; null until it is known. */
export const storage = signal<Storage | null>(null);
/** Why a list could not be fetched; null where none failed. */
export const catalogueError = signal<ApiError | null>(null);

/** The names of the toolchains that the user switched off. */
export const switchedOff = signal<ReadonlySet<string>>(new Set());

/** The targets of the next run: usable and switched on, in the order of the toolchains. */
export const chosenTargets = computed(() => toolchains.value.filter((one) => one.usable && !switchedOff.value.has(one.name)).map((one) => one.name));

/** The targets whose kernels can be tuned. */
export const tuningTargets = computed(() => new Set(toolchains.value.filter((one) => one.tunes).map((one) => one.name)));

/** The style of a target; of one that is no toolchain here, such as one that is only tried, it is free beside those that were asked for. */
export function styleOf(target: string): TargetStyle {
  const known = styles.value;
  const style = known.get(target) ?? targetStyles([{ name: target }], known).get(target);
  if (!style) throw new Error(`${target} has no style`);
  known.set(target, style);
  return style;
}

/** The styles that were made, one for each target, since every node asks for its own. */
export const styles = computed(() => targetStyles(toolchains.value));

let loadingSamples: Promise<void> | undefined;

/** Fetch the lists, and show each as soon as it arrives. */
export async function loadCatalogue(): Promise<void> {
  catalogueError.value = null;
  await Promise.all([loadModels(), loadToolchains()]);
}

/** Fetch the samples and the models that were opened before. */
export async function loadModels(): Promise<void> {
  loadingSamples = shown(api.samples(), (answer) => (samples.value = answer.samples));
  await Promise.all([loadingSamples, shown(api.models(), adoptModels)]);
}

/** The recorded run of a sample, once the list of samples is there; undefined where it has none. */
export async function recordedRun(name: string): Promise<string | undefined> {
  await loadingSamples;
  return samples.value.find((sample) => sample.name === name)?.recorded ?? undefined;
}

/** Fetch the toolchains. The server imports them for that, which takes a second or more, so nothing should wait for it. */
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

/** Take a new list of toolchains. A new one that is described, a library of calls, or a variant (`@`) is switched off until the user wants it. */
function adopt(found: ToolchainInfo[]): void {
  const known = new Set(toolchains.value.map((one) => one.name));
  const isOff = (one: ToolchainInfo): boolean =>
    one.described || one.style === "library" || one.lowers_precision || one.name.includes("@");
  const off = found.filter((one) => isOff(one) && !known.has(one.name)).map((one) => one.name);
  batch(() => {
    toolchains.value = found;
    switchedOff.value = new Set([...switchedOff.value, ...off]);
  });
}

/** Switch a target on for the next run. */
export function switchOn(name: string): void {
  switchedOff.value = new Set([...switchedOff.value].filter((one) => one !== name));
}

/** Fetch the folder and its size; a failure only leaves them out. */
export async function loadStorage(): Promise<void> {
  storage.value = await api.storage().catch(() => null);
}

/** Fetch the models again, after one more was opened; a failure leaves the old list. */
export async function refreshModels(): Promise<void> {
  const opened = await api.models().catch(() => null);
  if (opened) adoptModels(opened);
}

function adoptModels({ models: list, results: best }: ModelList): void {
  batch(() => {
    models.value = list;
    results.value = best;
  });
}

/** Delete a model for good; its runs stay. */
export async function deleteModel(id: string): Promise<void> {
  try {
    await api.deleteModel(id);
    models.value = models.value.filter((one) => one.id !== id);
  } catch (error) {
    catalogueError.value = asApiError(error);
  }
}
