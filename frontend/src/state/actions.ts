// What a key or a button does, where it takes more than one slice of the state: run, pin, veto, export.

import { signal } from "@preact/signals";
import { api, asApiError } from "../api";
import { pinExactly, pinNodes, vetoCandidate, vetoNodes } from "../constraints";
import { begin } from "../idle";
import type { NodeCandidate } from "../protocol";
import { constraints, decide, keepRun } from "./decisions";
import { save } from "./download";
import { model } from "./model";
import { ended, isActive, partitionOf, run, runError, startRun } from "./run";
import { focused, isDrawerOpen, drawerTab, selection } from "./selection";

/** Start a run of the open model on the chosen targets, with the present constraints. */
export async function runNow(): Promise<void> {
  const current = model.peek();
  if (!current || isActive.peek()) return;
  drawerTab.value = "search";
  isDrawerOpen.value = true;
  const started = await startRun(current.info.id, [...constraints.peek()]);
  if (started) keepRun(started);
}

/** Names of nodes, by index. */
function namesOf(nodes: readonly number[]): string[] {
  return nodes.flatMap((node) => model.peek()?.graph.nodes[node]?.name ?? []);
}

interface Meant {
  names: string[];
  target: string;
  isExact: boolean;
}

/** What a pin or veto is about when no candidate is in focus: the selected partition, or the node on its present target. */
function meant(): Meant | null {
  const chosen = selection.peek();
  if (chosen.kind === "box") {
    const target = partitionOf.peek().get(chosen.box)?.target;
    return target === undefined ? null : { names: namesOf([chosen.box]), target, isExact: false };
  }
  if (chosen.kind === "none") return null;
  const partition = run.peek()?.plan?.partitions.find((one) => one.id === chosen.id);
  return partition ? { names: namesOf(partition.nodes), target: partition.target, isExact: true } : null;
}

/** Pin the candidate in focus exactly; else the selected partition exactly, or the selected node to its target. */
export function pin(): void {
  const candidate = focused.peek();
  if (candidate) {
    pinCandidate(candidate);
    return;
  }
  const what = meant();
  if (what) void decide(what.isExact ? pinExactly(what.names, what.target) : pinNodes(what.names, what.target));
}

/** Veto the candidate in focus; else the present target for the selected nodes. */
export function veto(): void {
  const candidate = focused.peek();
  if (candidate) {
    vetoThisCandidate(candidate);
    return;
  }
  const what = meant();
  if (what) void decide(vetoNodes(what.names, what.target));
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
  if (run.peek()?.id === id) run.value = done;
  if (!done.artifact && done.error) throw Object.assign(new Error(done.error.message), done.error);
}
