// The graph of the model's file in place of the planned one, and back; the bodies and functions in it open in its place.

import { batch, signal } from "@preact/signals";
import { nextFrame, overFrames } from "../../base/long_work";
import { api, asApiError } from "../../data/api";
import type { NodeJson, RunSnapshot } from "../../data/protocol";
import { building } from "../../graph/boxes/build";
import { foldOf } from "../../graph/boxes/groups";
import { Superseded } from "../../graph/layout/request";
import { makeScene } from "../../graph/scene/make";
import { panelTab } from "../display";
import { windowForGraph } from "../graph/view";
import { clearRun, keptRun, runError, showRun } from "../run/run";
import { clearSelection } from "../selection/selection";
import { model, modelState, type OpenedModel } from "./model";

/** The model as it is planned, and its run, while the graph of its file is shown. */
const left = signal<{ opened: OpenedModel; run: RunSnapshot | null } | null>(null);

/** The run to which one comes back from the graph of the file; null where there is none. */
export function leftRun(): string | null {
  return model.value?.file && left.value?.opened.info.id === model.value.info.id ? (left.value.run?.id ?? null) : null;
}

/** Show a graph of the model's file: the model's own, or, by its scope, a body or a function. */
export async function showFile(scope = ""): Promise<void> {
  const opened = model.peek();
  if (!opened || opened.file?.scope === scope) return;
  try {
    const { graph, formal, groups, path, docs } = await api.fileGraph(opened.info.id, scope);
    const built = await overFrames(building(graph, formal), nextFrame);
    const fold = foldOf(groups, graph.nodes.length, [], { by: null, open: [], node: null });
    const laid = await makeScene(opened.info.id, graph, built, fold.tree, fold.open, [], windowForGraph(false));
    if (model.peek()?.info.id !== opened.info.id) return;
    batch(() => {
      if (!opened.file) left.value = { opened, run: keptRun.peek() };
      clearSelection();
      clearRun();
      panelTab.value = "node";
      modelState.value = { kind: "ready", model: { ...opened, graph, formal, built, groups, fold, file: { scope, path, docs }, ...laid } };
    });
  } catch (error) {
    if (!(error instanceof Superseded)) runError.value = asApiError(error);
  }
}

/** Show the model as it is planned again, with the run that was shown with it. */
export function showPlanned(): void {
  const before = left.peek();
  if (!before || before.opened.info.id !== model.peek()?.info.id) return;
  batch(() => {
    clearSelection();
    modelState.value = { kind: "ready", model: before.opened };
    if (before.run) showRun(before.run);
    left.value = null;
  });
}

/** Open the graph around the one that is shown; of a planned model, nothing. */
export function leaveScope(): void {
  const outer = model.peek()?.file?.path.at(-2);
  if (outer) void showFile(outer.scope);
}

/** True if there is a graph in the node: a body, or the function that it calls. */
export function hasBodies(node: NodeJson | undefined): boolean {
  return node !== undefined && ((node.bodies?.length ?? 0) > 0 || (model.peek()?.info.is_onnx === true && bodyAttributes(node).length > 0));
}

/** The attributes of a node that are graphs. */
export function bodyAttributes({ attributes }: NodeJson): string[] {
  return Object.entries(attributes).filter(([, value]) => isGraph(value)).map(([name]) => name);
}

function isGraph(value: unknown): boolean {
  return typeof value === "object" && value !== null && "graph" in value;
}

/** Open the graph in an attribute of a node, by default the first one. */
export async function openBody(node: NodeJson, attribute?: string): Promise<void> {
  const opened = model.peek();
  if (!opened) return;
  const links = node.bodies ?? (await bodiesInFile(opened.info.id, node.name));
  const link = links.find((one) => attribute === undefined || one.attribute === attribute);
  if (link) await showFile(link.scope);
  else runError.value = { code: "unknown_scope", message: `the file has no node ${node.name} with such a graph`, hint: "look for it in the view as in the file" };
}

async function bodiesInFile(id: string, name: string): Promise<NonNullable<NodeJson["bodies"]>> {
  try {
    return (await api.fileGraph(id, "")).graph.nodes.find((one) => one.name === name)?.bodies ?? [];
  } catch (error) {
    runError.value = asApiError(error);
    return [];
  }
}
