// Keeps the page's address in step with what is selected: ?model=…&run=…&node=…&nodes=…&part=…&overlay=…&of=…&plan=…&against=…
// &group=…&open=…&as=file&scope=…; the browser's back and forward buttons go through it. `?sample=name` opens that sample.

import { effect } from "@preact/signals";
import { begin } from "../base/idle";
import { api, asApiError } from "../data/api";
import { config } from "../data/config";
import { formatNodes, parseNodes } from "../data/spans";
import { foldOf, GROUPINGS, openingGrouping, type Grouping, type WantedFold } from "../graph/boxes/groups";
import { coverageTarget, overlay, type Overlay, OVERLAYS, showDrawer } from "./display";
import { openView } from "./graph/view";
import { loadModels, loadToolchains } from "./model/catalogue";
import { leftRun, showFile, showPlanned } from "./model/file_view";
import { fold, groupBy } from "./model/folding";
import { model, modelState } from "./model/model";
import { closeModel, openSource } from "./model/open";
import { compare, givenAgainst, planRef } from "./plan/compare";
import { adoptRun, isDeciding } from "./plan/decisions";
import { OWN } from "./plan/own_plan";
import { isPlaying, showStep, replayStep } from "./replay/player";
import { clearRun, partitions, run, runError, showRun } from "./run/run";
import { select, selection, selectionOf, type Selection } from "./selection/selection";

export interface Address {
  sample: string | null;
  model: string | null;
  run: string | null;
  selection: Selection;
  overlay: Overlay;
  /** The target of the overlay Coverage; null for the first one. */
  of: string | null;
  /** The two plans of a comparison, as references of `compare.ts`; null to let the page choose the second one. */
  plan: string;
  against: string | null;
  /** The step of the replay, from 0. */
  step: number;
  /** The grouping of the nodes; null to let the page choose. */
  group: Grouping | null;
  /** The groups that are unfolded. */
  open: readonly string[];
  /** The scope of the graph of the file that is shown; null for the model as it is planned. */
  file: string | null;
}

/** Read the query of an address. */
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
    file: query.get("as") === "file" ? (query.get("scope") ?? "") : null,
  };
}

function parseSelection(query: URLSearchParams): Selection {
  const part = query.get("part");
  if (part) return { kind: "partition", id: part };
  const node = Number(query.get("node") ?? NaN);
  return Number.isInteger(node) && node >= 0 ? { kind: "box", box: node } : selectionOf(parseNodes(query.get("nodes") ?? ""));
}

/** Write the query of an address; defaults are left out. */
export function formatAddress(address: Omit<Address, "sample">): string {
  const query = new URLSearchParams();
  const put = (name: string, text: string | null): void => void (text && query.set(name, text));
  put("model", address.model);
  put("run", address.run);
  if (address.selection.kind === "box") query.set("node", String(address.selection.box));
  if (address.selection.kind === "boxes") query.set("nodes", formatNodes(address.selection.boxes));
  if (address.selection.kind === "partition") query.set("part", address.selection.id);
  if (address.overlay !== "target") query.set("overlay", address.overlay);
  if (address.overlay === "coverage" && address.of) query.set("of", address.of);
  put("plan", address.plan);
  if (address.against !== null) query.set("against", address.against);
  if (address.overlay === "search" && address.step > 0) query.set("step", String(address.step));
  put("group", address.group);
  put("open", address.open.join(" "));
  put("as", address.file === null ? null : "file");
  put("scope", address.file);
  const text = query.toString();
  return text === "" ? "" : `?${text}`;
}

let isApplying = false;
let isStep = false;
let hasWritten = false;

/** Make a change that replaces the address without a step for the back button, such as a walk by keys. */
export function withoutStep(change: () => void): void {
  isStep = true;
  change();
  isStep = false;
}

/** Open what the address names, then keep the address in step. */
export async function startAddress(): Promise<void> {
  const end = begin("opening");
  window.addEventListener("popstate", () => void applyAddress(parseAddress(location.search)));
  const address = parseAddress(location.search);
  if (address.model ?? address.run ?? address.sample ?? config.model) modelState.value = { kind: "loading", what: address.sample ?? "the model" };
  await Promise.all([loadModels(), applyAddress(address, true)]);
  void loadToolchains();
  if (location.protocol !== "about:") effect(write); // in a frame of a notebook the document has no address of its own
  end();
}

async function applyAddress(address: Address, isFirst = false): Promise<void> {
  isApplying = true;
  try {
    await openFrom(address, isFirst);
    if (address.file !== null) await showFile(address.file);
    await foldAs(address);
    overlay.value = address.overlay;
    coverageTarget.value = address.of;
    compare(address.plan, address.against);
    showStep(address.step);
    if (address.selection.kind !== "none" || !isFirst) select(address.selection);
    if (isFirst && address.overlay === "search") showDrawer("search");
    if (isFirst && address.selection.kind === "box") openView();
  } finally {
    isApplying = false;
  }
}

/** Fold the open model as in the address, unless it already is folded so. */
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
    else await showAs(address);
  } else if (address.sample) {
    await openSource({ kind: "sample", name: address.sample }, {}, undefined, fold);
  } else if (isFirst && config.model) {
    await openSource({ kind: "id", id: config.model }, {}, config.report?.run ?? config.run ?? undefined, fold);
  } else if (!isFirst) {
    closeModel();
  }
}

/** The model of a run; undefined where there is no such run, after showing the error. */
async function modelOfRun(id: string): Promise<string | undefined> {
  try {
    return (await api.run(id)).model;
  } catch (error) {
    modelState.value = { kind: "failed", error: asApiError(error), source: { kind: "id", id }, shapes: {} };
    return undefined;
  }
}

/** Show the open model as it is planned, with the run of the address; the graph of the file has none. */
async function showAs({ file, run: id }: Address): Promise<void> {
  if (file !== null) return;
  showPlanned();
  await showRunOf(id);
}

async function showRunOf(id: string | null): Promise<void> {
  if (id === (run.peek()?.id ?? null)) return;
  const found = id === null ? null : await api.run(id).catch(asApiError);
  const snapshot = found && "state" in found ? found : null;
  if (snapshot) showRun(snapshot);
  else clearRun();
  adoptRun(snapshot);
  if (found && !("state" in found)) runError.value = found;
}

/** Write the present state into the address. A change of model, run or selection is a step for the back button. */
function write(): void {
  const address = {
    model: model.value?.info.id ?? null,
    run: run.value?.id ?? leftRun(),
    selection: selection.value,
    overlay: overlay.value,
    of: coverageTarget.value,
    plan: lasting(planRef.value) ?? "",
    against: lasting(givenAgainst.value),
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

/** A reference of a plan that a link can name; null for a plan of the user's own, which only this page has. */
function lasting(ref: string | null): string | null {
  return ref?.startsWith(OWN) ? null : ref;
}

/** The graph that is shown, and its fold, as far as it differs from the one with which it opens. */
function folded(): Pick<Address, "group" | "open" | "file"> {
  const [opened, now] = [model.value, fold.value];
  if (!opened || !now) return { group: null, open: [], file: null };
  const isUsual = now.by === openingGrouping(opened.graph.nodes.length, opened.groups, partitions.value);
  return { group: isUsual ? null : now.by, open: [...now.open].sort(), file: opened.file?.scope ?? null };
}

/** A query without the replay's step and the fold, whose changes are no step for the back button. */
function withoutReplay(search: string): string {
  return search.replace(/[?&](step|group|open)=[^&]*/g, "");
}
