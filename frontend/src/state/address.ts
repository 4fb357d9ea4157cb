// Everything selected is in the address: ?model=…&run=…&node=…&nodes=…&part=…&overlay=…&of=…&plan=…&against=…&group=…&open=…; back
// and forward bring it back.
// `?sample=name` opens that sample.

import { effect } from "@preact/signals";
import { begin } from "../base/idle";
import { api, asApiError } from "../data/api";
import { config } from "../data/config";
import { formatNodes, parseNodes } from "../data/spans";
import { foldOf, GROUPINGS, openingGrouping, type Grouping, type WantedFold } from "../graph/boxes/groups";
import { coverageTarget, overlay, type Overlay, OVERLAYS } from "./display";
import { openView } from "./graph/view";
import { loadModels, loadToolchains } from "./model/catalogue";
import { fold, groupBy } from "./model/folding";
import { model, modelState } from "./model/model";
import { closeModel, openSource } from "./model/open";
import { compare, givenAgainst, planRef } from "./plan/compare";
import { adoptRun, isDeciding } from "./plan/decisions";
import { isPlaying, showStep, replayStep } from "./replay/player";
import { clearRun, partitions, run, showRun } from "./run/run";
import { select, selection, selectionOf, type Selection } from "./selection/selection";

export interface Address {
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
export function parseAddress(search: string): Address {
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

/** The address of a address; the default overlay is left out. */
export function formatAddress(address: Omit<Address, "sample">): string {
  const query = new URLSearchParams();
  if (address.model) query.set("model", address.model);
  if (address.run) query.set("run", address.run);
  if (address.selection.kind === "box") query.set("node", String(address.selection.box));
  if (address.selection.kind === "boxes") query.set("nodes", formatNodes(address.selection.boxes));
  if (address.selection.kind === "partition") query.set("part", address.selection.id);
  if (address.overlay !== "target") query.set("overlay", address.overlay);
  if (address.overlay === "coverage" && address.of) query.set("of", address.of);
  if (address.plan !== "") query.set("plan", address.plan);
  if (address.against !== null) query.set("against", address.against);
  if (address.overlay === "search" && address.step > 0) query.set("step", String(address.step));
  if (address.group) query.set("group", address.group);
  if (address.open.length > 0) query.set("open", address.open.join(" "));
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
  window.addEventListener("popstate", () => void applyAddress(parseAddress(location.search)));
  const address = parseAddress(location.search);
  if (address.model ?? address.run ?? address.sample ?? config.model) modelState.value = { kind: "loading", what: address.sample ?? "the model" };
  await Promise.all([loadModels(), applyAddress(address, true)]);
  void loadToolchains();
  effect(write);
  end();
}

async function applyAddress(address: Address, isFirst = false): Promise<void> {
  isApplying = true;
  try {
    await openFrom(address, isFirst);
    await foldAs(address);
    overlay.value = address.overlay;
    coverageTarget.value = address.of;
    compare(address.plan, address.against);
    showStep(address.step);
    if (address.selection.kind !== "none" || !isFirst) select(address.selection);
    if (isFirst && address.selection.kind === "box") openView();
  } finally {
    isApplying = false;
  }
}

/** Fold the open model as the address says; where it already is so, nothing is laid out. */
async function foldAs(address: Address): Promise<void> {
  const opened = model.peek();
  const now = fold.peek();
  if (!opened || !now) return;
  const { by, open } = foldOf(opened.groups, opened.graph.nodes.length, partitions.peek(), wantedFold(address));
  const isSame = by === now.by && open.size === now.open.size && [...open].every((id) => now.open.has(id));
  if (!isSame) await groupBy(by, open);
}

function wantedFold({ group, open, selection }: Address): WantedFold {
  return { by: group, open, node: selection.kind === "box" ? selection.box : null };
}

async function openFrom(address: Address, isFirst: boolean): Promise<void> {
  const fold = wantedFold(address);
  const wanted = address.model ?? (address.run ? await modelOfRun(address.run) : null);
  if (wanted === undefined) return;
  if (wanted) {
    if (model.peek()?.info.id !== wanted) await openSource({ kind: "id", id: wanted }, {}, address.run ?? undefined, fold);
    else await showRunOf(address.run);
  } else if (address.sample) {
    await openSource({ kind: "sample", name: address.sample }, {}, undefined, fold);
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

async function showRunOf(id: string | null): Promise<void> {
  if (id === (run.peek()?.id ?? null)) return;
  const snapshot = id === null ? null : await api.run(id).catch(() => null);
  if (snapshot) showRun(snapshot);
  else clearRun();
  adoptRun(snapshot);
}

/** Write the address as the state is; a change of model, run or selection is a step for the back button. */
function write(): void {
  const address = {
    model: model.value?.info.id ?? null,
    run: run.value?.id ?? null,
    selection: selection.value,
    overlay: overlay.value,
    of: coverageTarget.value,
    plan: planRef.value,
    against: givenAgainst.value,
    step: isPlaying.value ? 0 : replayStep.value,
    ...folded(),
  };
  const { kind } = modelState.value;
  if (kind === "loading" || kind === "failed" || isDeciding.value) return;
  const next = formatAddress(address);
  const isQuiet = isApplying || isStep || !hasWritten || withoutReplay(next) === withoutReplay(location.search);
  hasWritten = true;
  if (next === location.search) return;
  const url = `${location.pathname}${next}`;
  if (isQuiet) window.history.replaceState(null, "", url);
  else window.history.pushState(null, "", url);
}

/** How the model is folded, as far as that is not how it opens. */
function folded(): Pick<Address, "group" | "open"> {
  const [opened, now] = [model.value, fold.value];
  if (!opened || !now) return { group: null, open: [] };
  const isUsual = now.by === openingGrouping(opened.graph.nodes.length, opened.groups);
  return { group: isUsual ? null : now.by, open: [...now.open].sort() };
}

/** An address without the step of the replay and what is folded: these are nothing to go back from. */
function withoutReplay(search: string): string {
  return search.replace(/[?&](step|group|open)=[^&]*/g, "");
}
