// What a key or a button does, where it takes more than one slice of the state: run, pin, veto, cut, export.

import { signal } from "@preact/signals";
import { api, asApiError } from "../api";
import { cutBetween, pinExactly, pinNodes, vetoCandidate, vetoNodes, type Constraint } from "../constraints";
import { begin } from "../idle";
import type { NodeCandidate } from "../protocol";
import { constraints, decide, keepRun } from "./decisions";
import { save } from "./download";
import { model } from "./model";
import { optionsToRun } from "./options";
import { showPart } from "./rules";
import { ended, isActive, keptRun, partitionOf, run, runError, startRun } from "./run";
import { selectedNodes, selectedPartition } from "./selected";
import { focused, isDrawerOpen, drawerTab } from "./selection";

/** Start a run of the open model on the chosen targets, with the present constraints. */
export async function runNow(): Promise<void> {
  const current = model.peek();
  if (!current || isActive.peek()) return;
  const options = optionsToRun();
  if (!options) {
    showPart("options");
    return;
  }
  drawerTab.value = "search";
  isDrawerOpen.value = true;
  const started = await startRun(current.info.id, [...constraints.peek()], options);
  if (started) keepRun(started);
}

/** Names of nodes, by index. */
export function namesOf(nodes: readonly number[]): string[] {
  return nodes.flatMap((node) => model.peek()?.graph.nodes[node]?.name ?? []);
}

/** The selected nodes by the target on which they are; those of no target are left out. */
function byPresentTarget(): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const node of selectedNodes.peek()) {
    const target = partitionOf.peek().get(node)?.target;
    if (target === undefined || target === "host") continue;
    groups.set(target, [...(groups.get(target) ?? []), ...namesOf([node])]);
  }
  return groups;
}

/** Pin the candidate in focus exactly; else the selected partition exactly, or the selected nodes each to its target. */
export function pin(): void {
  const candidate = focused.peek();
  const partition = selectedPartition.peek();
  if (candidate) pinCandidate(candidate);
  else if (partition) void decide(pinExactly(namesOf(partition.nodes), partition.target));
  else void decide(...[...byPresentTarget()].map(([target, names]) => pinNodes(names, target)));
}

/** Veto the candidate in focus; else the present target for each of the selected nodes. */
export function veto(): void {
  const candidate = focused.peek();
  if (candidate) vetoThisCandidate(candidate);
  else void decide(...[...byPresentTarget()].map(([target, names]) => vetoNodes(names, target)));
}

export interface Cuts {
  into: Constraint[];
  out: Constraint[];
  between: Constraint[];
}

/** The cuts that some nodes allow: on every edge into them, out of them, and between them. */
export function cutsOf(nodes: readonly number[]): Cuts {
  const inside = new Set(nodes);
  const cuts: Cuts = { into: [], out: [], between: [] };
  for (const { from, to } of model.peek()?.built.edges ?? []) {
    const [isFrom, isTo] = [inside.has(from), inside.has(to)];
    const [a, b] = namesOf([from, to]);
    if ((!isFrom && !isTo) || a === undefined || b === undefined) continue;
    const list = isFrom && isTo ? cuts.between : isFrom ? cuts.out : cuts.into;
    list.push(cutBetween(a, b));
  }
  return cuts;
}

/** Cut between two selected neighbours; else all around what is selected. */
export function cut(): void {
  const nodes = selectedNodes.peek();
  const { into, out, between } = cutsOf(nodes);
  void decide(...(nodes.length === 2 && between.length > 0 ? between : [...into, ...out]));
}

export function pinCandidate(candidate: NodeCandidate): void {
  void decide(pinExactly(namesOf(candidate.nodes), candidate.target));
}

export function vetoThisCandidate(candidate: NodeCandidate): void {
  void decide(vetoCandidate(candidate.id));
}

/** Where the export is: nothing, being built (with its phase), or failed (in `runError`). */
export const exporting = signal<string | null>(null);

/** Download the plan and its runnable artifact; the artifact is built first where the run has none. */
export async function exportRun(): Promise<void> {
  const current = run.peek();
  if (!current?.plan || exporting.peek() !== null) return;
  const end = begin("export");
  exporting.value = "preparing";
  try {
    if (!current.artifact) await buildArtifact(current.id);
    save(api.exportAddress(current.id));
  } catch (error) {
    runError.value = asApiError(error);
  } finally {
    exporting.value = null;
    end();
  }
}

async function buildArtifact(id: string): Promise<void> {
  const started = await api.makeArtifact(id);
  const done = await ended(started, (now) => (exporting.value = now.phase ?? "preparing"));
  if (keptRun.peek()?.id === id) keptRun.value = done;
  if (!done.artifact && done.error) throw Object.assign(new Error(done.error.message), done.error);
}
