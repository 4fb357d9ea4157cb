// Everything selected is in the address: ?model=…&run=…&node=…&nodes=…&part=…&overlay=…&of=…&plan=…&against=…&group=…&open=…; back
// and forward bring it back.
// `?sample=name` opens that sample.

import { effect } from "@preact/signals";
import { begin } from "../base/idle";
import { api, asApiError } from "../data/api";
import { config } from "../data/config";
import { formatNodes, parseNodes } from "../data/spans";
import { foldOf, GROUPINGS, openingGrouping, type Grouping, type WantedFold } from "../graph/boxes/groups";
import { coverageOf, overlay, type Overlay, OVERLAYS } from "./display";
import { openView } from "./graph/view";
import { loadModels, loadToolchains } from "./model/catalogue";
import { fold, groupBy } from "./model/folding";
import { model, modelState } from "./model/model";
import { closeModel, openSource } from "./model/open";
import { compare, givenAgainst, planRef } from "./plan/compare";
import { adoptRun, isDeciding } from "./plan/decisions";
import { isPlaying, lookAt, step } from "./replay/player";
import { clearRun, partitions, run, showRun } from "./run/run";
import { select, selection, selectionOf, type Selection } from "./selection/selection";

export interface Place {
  sample: string | null;
  model: string | null;
  run: string | null;
  selection: Selection;
  overlay: Overlay;
  /** Whose coverage; null for the first target. */
  of: string | null;
  /** What is compared, empty for the shown plan, and with what; null where the page chooses. */
  plan: string;
  against: string | null;
  /** Of the replay, from 0. */
  step: number;
  /** By what the nodes are grouped; null where the page chooses. */
  group: Grouping | null;
  /** The groups that are unfolded. */
  open: readonly string[];
}

/** What an address names. */
export function parsePlace(search: string): Place {
  const query = new URLSearchParams(search);
  const at = Number(query.get("step") ?? 0);
  const wanted = OVERLAYS.find((one) => one === query.get("overlay")) ?? "target";
  return {
    sample: query.get("sample"),
    model: query.get("model"),
    run: query.get("run"),
    selection: parseSelection(query),
    overlay: wanted,
    of: query.get("of"),
    plan: query.get("plan") ?? "",
    against: query.get("against"),
    step: Number.isSafeInteger(at) && at > 0 ? at : 0,
    group: GROUPINGS.find((one) => one === query.get("group")) ?? null,
    open: (query.get("open") ?? "").split(" ").filter(Boolean),
  };
}

function parseSelection(query: URLSearchParams): Selection {
  const part = query.get("part");
  if (part) return { kind: "partition", id: part };
  const node = Number(query.get("node") ?? NaN);
  return Number.isInteger(node) && node >= 0 ? { kind: "box", box: node } : selectionOf(parseNodes(query.get("nodes") ?? ""));
}

/** The address of a place; the default overlay is left out. */
export function formatPlace(place: Omit<Place, "sample">): string {
  const query = new URLSearchParams();
  if (place.model) query.set("model", place.model);
  if (place.run) query.set("run", place.run);
  if (place.selection.kind === "box") query.set("node", String(place.selection.box));
  if (place.selection.kind === "boxes") query.set("nodes", formatNodes(place.selection.boxes));
  if (place.selection.kind === "partition") query.set("part", place.selection.id);
  if (place.overlay !== "target") query.set("overlay", place.overlay);
  if (place.overlay === "coverage" && place.of) query.set("of", place.of);
  if (place.plan !== "") query.set("plan", place.plan);
  if (place.against !== null) query.set("against", place.against);
  if (place.overlay === "search" && place.step > 0) query.set("step", String(place.step));
  if (place.group) query.set("group", place.group);
  if (place.open.length > 0) query.set("open", place.open.join(" "));
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
  await Promise.all([loadModels(), applyPlace(place, true)]);
  void loadToolchains();
  effect(write);
  end();
}

async function applyPlace(place: Place, isFirst = false): Promise<void> {
  isApplying = true;
  try {
    await openPlace(place, isFirst);
    await foldAs(place);
    overlay.value = place.overlay;
    coverageOf.value = place.of;
    compare(place.plan, place.against);
    lookAt(place.step);
    if (place.selection.kind !== "none" || !isFirst) select(place.selection);
    if (isFirst && place.selection.kind === "box") openView();
  } finally {
    isApplying = false;
  }
}

/** Fold the open model as the address says; where it already is so, nothing is laid out. */
async function foldAs(place: Place): Promise<void> {
  const opened = model.peek();
  const now = fold.peek();
  if (!opened || !now) return;
  const { by, open } = foldOf(opened.groups, opened.graph.nodes.length, partitions.peek(), wantedFold(place));
  const isSame = by === now.by && open.size === now.open.size && [...open].every((id) => now.open.has(id));
  if (!isSame) await groupBy(by, open);
}

function wantedFold({ group, open, selection }: Place): WantedFold {
  return { by: group, open, node: selection.kind === "box" ? selection.box : null };
}

async function openPlace(place: Place, isFirst: boolean): Promise<void> {
  const fold = wantedFold(place);
  const wanted = place.model ?? (place.run ? await modelOfRun(place.run) : null);
  if (wanted === undefined) return;
  if (wanted) {
    if (model.peek()?.info.id !== wanted) await openSource({ kind: "id", id: wanted }, {}, place.run ?? undefined, fold);
    else await openRun(place.run);
  } else if (place.sample) {
    await openSource({ kind: "sample", name: place.sample }, {}, undefined, fold);
  } else if (isFirst && config.model) {
    await openSource({ kind: "id", id: config.model }, {}, undefined, fold);
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
  const place = {
    model: model.value?.info.id ?? null,
    run: run.value?.id ?? null,
    selection: selection.value,
    overlay: overlay.value,
    of: coverageOf.value,
    plan: planRef.value,
    against: givenAgainst.value,
    step: isPlaying.value ? 0 : step.value,
    ...folded(),
  };
  const { kind } = modelState.value;
  if (kind === "loading" || kind === "failed" || isDeciding.value) return;
  const next = formatPlace(place);
  const isQuiet = isApplying || isStep || !hasWritten || withoutReplay(next) === withoutReplay(location.search);
  hasWritten = true;
  if (next === location.search) return;
  const address = `${location.pathname}${next}`;
  if (isQuiet) window.history.replaceState(null, "", address);
  else window.history.pushState(null, "", address);
}

/** How the model is folded, as far as that is not how it opens. */
function folded(): Pick<Place, "group" | "open"> {
  const [opened, now] = [model.value, fold.value];
  if (!opened || !now) return { group: null, open: [] };
  const isUsual = now.by === openingGrouping(opened.graph.nodes.length, opened.groups);
  return { group: isUsual ? null : now.by, open: [...now.open].sort() };
}

/** An address without the step of the replay and what is folded: these are nothing to go back from. */
function withoutReplay(search: string): string {
  return search.replace(/[?&](step|group|open)=[^&]*/g, "");
}
