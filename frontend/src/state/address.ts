// Everything selected is in the address: ?model=…&run=…&node=…&part=…&overlay=…; back and forward bring it back.
// `?sample=name` opens that sample.

import { effect } from "@preact/signals";
import { config } from "../config";
import { begin } from "../idle";
import { api, asApiError } from "../api";
import { adoptRun, isDeciding } from "./decisions";
import { closeModel, model, modelState, openSource } from "./model";
import { clearRun, run, showRun } from "./run";
import { OVERLAYS, overlay, select, selection, type Overlay, type Selection } from "./selection";
import { loadCatalogue } from "./catalogue";

export interface Place {
  sample: string | null;
  model: string | null;
  run: string | null;
  selection: Selection;
  overlay: Overlay;
}

/** What an address names. */
export function parsePlace(search: string): Place {
  const query = new URLSearchParams(search);
  const node = Number(query.get("node") ?? NaN);
  const part = query.get("part");
  const chosen: Selection = part ? { kind: "partition", id: part } : Number.isInteger(node) && node >= 0 ? { kind: "box", box: node } : { kind: "none" };
  const wanted = OVERLAYS.find((one) => one === query.get("overlay")) ?? "target";
  return { sample: query.get("sample"), model: query.get("model"), run: query.get("run"), selection: chosen, overlay: wanted };
}

/** The address of a place; the default overlay is left out. */
export function formatPlace(place: Omit<Place, "sample">): string {
  const query = new URLSearchParams();
  if (place.model) query.set("model", place.model);
  if (place.run) query.set("run", place.run);
  if (place.selection.kind === "box") query.set("node", String(place.selection.box));
  if (place.selection.kind === "partition") query.set("part", place.selection.id);
  if (place.overlay !== "target") query.set("overlay", place.overlay);
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

let isApplying = false;
let isStep = false;
let hasWritten = false;

/** The next change of the selection replaces the address and is no step for the back button: a walk by keys. */
export function withoutStep(change: () => void): void {
  isStep = true;
  change();
  isStep = false;
}

/** Open what the address names, then keep both in step. */
export async function startAddress(): Promise<void> {
  const end = begin("opening");
  window.addEventListener("popstate", () => void applyPlace(parsePlace(location.search)));
  const place = parsePlace(location.search);
  if (place.model ?? place.run ?? place.sample ?? config.model) modelState.value = { kind: "loading", what: place.sample ?? "the model" };
  await loadCatalogue();
  await applyPlace(place, true);
  effect(write);
  end();
}

async function applyPlace(place: Place, isFirst = false): Promise<void> {
  isApplying = true;
  try {
    await openPlace(place, isFirst);
    overlay.value = place.overlay;
    if (place.selection.kind !== "none" || !isFirst) select(place.selection);
  } finally {
    isApplying = false;
  }
}

async function openPlace(place: Place, isFirst: boolean): Promise<void> {
  const wanted = place.model ?? (place.run ? await modelOfRun(place.run) : null);
  if (wanted === undefined) return;
  if (wanted) {
    if (model.peek()?.info.id !== wanted) await openSource({ kind: "id", id: wanted }, {}, place.run ?? undefined);
    else await openRun(place.run);
  } else if (place.sample) {
    await openSource({ kind: "sample", name: place.sample });
  } else if (isFirst && config.model) {
    await openSource({ kind: "id", id: config.model });
  } else if (!isFirst) {
    closeModel();
  }
}

/** The model of a run; undefined where there is no such run, which is said. */
async function modelOfRun(id: string): Promise<string | undefined> {
  try {
    return (await api.run(id)).model;
  } catch (error) {
    modelState.value = { kind: "failed", error: asApiError(error), source: { kind: "id", id } };
    return undefined;
  }
}

async function openRun(id: string | null): Promise<void> {
  if (id === (run.peek()?.id ?? null)) return;
  const snapshot = id === null ? null : await api.run(id).catch(() => null);
  if (snapshot) showRun(snapshot);
  else clearRun();
  adoptRun(snapshot);
}

/** Write the address as the state is; a change of model, run or selection is a step for the back button. */
function write(): void {
  const place = { model: model.value?.info.id ?? null, run: run.value?.id ?? null, selection: selection.value, overlay: overlay.value };
  const { kind } = modelState.value;
  if (kind === "loading" || kind === "failed" || isDeciding.value) return;
  const next = formatPlace(place);
  const isQuiet = isApplying || isStep || !hasWritten;
  hasWritten = true;
  if (next === location.search) return;
  const address = `${location.pathname}${next}`;
  if (isQuiet) window.history.replaceState(null, "", address);
  else window.history.pushState(null, "", address);
}
