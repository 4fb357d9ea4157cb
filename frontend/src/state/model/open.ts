// Opens a model: fetches its graph, lays it out, and shows it with its run. Opening another one replaces it; the newest request wins.

import { batch } from "@preact/signals";
import { nextFrame, overFrames } from "../../base/long_work";
import { api, asApiError, type Shapes, type Values } from "../../data/api";
import type { ApiError, ModelGraph, ModelGroups, ModelInfo, PlanPartition, RunSnapshot } from "../../data/protocol";
import { building } from "../../graph/boxes/build";
import { foldOf, type WantedFold } from "../../graph/boxes/groups";
import { prepareLayout, Superseded } from "../../graph/layout/request";
import { makeScene } from "../../graph/scene/make";
import { isDrawerOpen, panelTab, showDrawer } from "../display";
import { windowForGraph } from "../graph/view";
import { adoptRun } from "../plan/decisions";
import { clearRun, runError, showRun } from "../run/run";
import { clearSelection } from "../selection/selection";
import { recordedRun, refreshModels } from "./catalogue";
import { modelState, type Source } from "./model";

const ANY_FOLD: WantedFold = { by: null, open: [], node: null };

let newest = 0;

/** Open a model, with sizes for its dynamic dimensions. `run` is the run to show with it; a sample's recorded run by default. */
export async function openSource(source: Source, shapes: Shapes = {}, run?: string, wanted: WantedFold = ANY_FOLD): Promise<void> {
  const mine = ++newest;
  modelState.value = { kind: "loading", what: nameOf(source) };
  prepareLayout();
  try {
    const early = source.kind === "id" ? contents(source.id) : undefined;
    early?.catch(() => undefined); // The request for its facts fails as well, and is reported.
    const { info, shown: brought } = await openedFrom(source, shapes);
    const recorded = run ?? brought ?? (info.sample ? await recordedRun(info.sample) : undefined);
    const [[graph, groups], { shown, error }] = await Promise.all([early ?? contents(info.id), runOrReason(recorded, info.id)]);
    // The layout of an older model would end that of the newer one.
    const isCurrent = (): void => {
      if (mine !== newest) throw new Superseded();
    };
    const built = await overFrames(building(graph.graph, graph.formal), () => nextFrame().then(isCurrent));
    isCurrent();
    const plan = partitionsOf(shown);
    const fold = foldOf(groups, graph.graph.nodes.length, plan, wanted);
    const opens = Boolean(shown?.error);
    const laid = await makeScene(info.id, graph.graph, built, fold.tree, fold.open, plan, windowForGraph(opens || isDrawerOpen.peek()));
    if (mine !== newest) return;
    batch(() => {
      clearSelection();
      const file = info.refusal ? { scope: "", path: [{ scope: "", title: info.name }], docs: {} } : null;
      modelState.value = { kind: "ready", model: { info, graph: graph.graph, folded: graph.folded, formal: graph.formal, built, groups, fold, file, ...laid } };
      if (shown) showRun(shown);
      else clearRun();
      if (opens) showDrawer("search");
      else if (file) panelTab.value = "node";
      adoptRun(shown ?? null);
      runError.value = error ?? null;
    });
    void refreshModels();
  } catch (error) {
    if (mine !== newest || error instanceof Superseded) return;
    modelState.value = { kind: "failed", error: asApiError(error), source, shapes };
  }
}

const SESSION = /\.collage$/i;

/** Open files that the user chose: a session, or a model with its external data. */
export function openFiles(files: readonly File[]): void {
  const [first] = files;
  if (!first) return;
  void openSource(files.length === 1 && SESSION.test(first.name) ? { kind: "session", file: first } : { kind: "files", files });
}

/** Close the model and go back to the page with the samples. */
export function closeModel(): void {
  newest += 1;
  batch(() => {
    modelState.value = { kind: "empty" };
    clearRun();
    adoptRun(null);
    clearSelection();
  });
}

function partitionsOf(shown: RunSnapshot | undefined): readonly PlanPartition[] {
  return shown?.plan?.partitions ?? [];
}

/** The model of a source, and the run that comes with it and is to be shown. */
async function openedFrom(source: Source, shapes: Shapes): Promise<{ info: ModelInfo; shown?: string }> {
  if (source.kind !== "session") return { info: await infoOf(source, shapes) };
  const { model, shown } = await api.openSession(source.file);
  return { info: model, ...(shown !== null && { shown }) };
}

function infoOf(source: Exclude<Source, { kind: "session" }>, shapes: Shapes): Promise<ModelInfo> {
  switch (source.kind) {
    case "sample":
      return api.openModel({ sample: source.name, shapes, ...valuesOf(source) });
    case "path":
      return api.openModel({ path: source.path, shapes, ...valuesOf(source), ...regionOf(source), ...trustOf(source) });
    case "files":
      return api.upload(source.files, shapes, source.values, source.region, source.trust);
    case "id":
      return api.model(source.id);
    case "again":
      return api.openModel({ again: source.id, shapes, ...valuesOf(source), ...regionOf(source), ...trustOf(source) });
  }
}

function valuesOf({ values }: { values?: Values }): { values?: Values } {
  return values === undefined ? {} : { values };
}

function regionOf({ region }: { region?: string }): { region?: string } {
  return region === undefined ? {} : { region };
}

function trustOf({ trust }: { trust?: boolean }): { trust?: boolean } {
  return trust === undefined ? {} : { trust };
}

function contents(id: string): Promise<[ModelGraph, ModelGroups]> {
  return Promise.all([api.graph(id), api.groups(id)]);
}

/** The run of this model; or why there is none to show, in which case the model opens without it. */
async function runOrReason(id: string | undefined, modelId: string): Promise<{ shown?: RunSnapshot; error?: ApiError }> {
  if (id === undefined) return {};
  try {
    const shown = await api.run(id);
    if (shown.model === modelId) return { shown };
    return { error: { code: "unknown_run", message: `the run ${JSON.stringify(id)} is one of another model: ${shown.model_name}`, hint: "choose a run of this model under Runs" } };
  } catch (error) {
    return { error: asApiError(error) };
  }
}

function nameOf(source: Source): string {
  switch (source.kind) {
    case "sample":
      return source.name;
    case "path":
      return source.path;
    case "files":
      return source.files.map((file) => file.name).join(", ");
    case "session":
      return source.file.name;
    case "id":
    case "again":
      return "the model";
  }
}
