// For a node of a run that has ended: the candidates that hold it, and the reasons where there is none. Fetched once, kept.

import { computed, effect, signal } from "@preact/signals";
import { api, asApiError } from "../api";
import type { ApiError, NodeCandidate, NodeCandidates } from "../protocol";
import { hasEnded } from "../run_reducer";
import { model } from "./model";
import { run } from "./run";
import { selectedPartition } from "./selected";
import { selection } from "./selection";

export type CandidatesState = { kind: "none" } | { kind: "loading" } | { kind: "ready"; data: NodeCandidates } | { kind: "failed"; error: ApiError };

const KEPT = 200;
const known = new Map<string, NodeCandidates>();
const labels = new Map<string, string>();

export const candidates = signal<CandidatesState>({ kind: "none" });

/** The node whose candidates are asked for: the selected one, or the first of the selected partition. */
export const askedNode = computed((): number | null => {
  const chosen = selection.value;
  if (chosen.kind === "box") return chosen.box < (model.value?.graph.nodes.length ?? 0) ? chosen.box : null;
  return selectedPartition.value?.nodes[0] ?? null;
});

const asked = computed(() => {
  const current = run.value;
  const node = askedNode.value;
  return current && hasEnded(current) && node !== null ? { run: current.id, node } : null;
});

/** What a candidate is called, for those that were seen. */
export function candidateLabel(id: string): string | undefined {
  return labels.get(id);
}

/** Keep `candidates` in step with the selection and the run. */
export function watchCandidates(): void {
  effect(() => {
    const wanted = asked.value;
    if (!wanted) {
      candidates.value = { kind: "none" };
      return;
    }
    const key = `${wanted.run}:${wanted.node}`;
    const data = known.get(key);
    candidates.value = data ? { kind: "ready", data } : { kind: "loading" };
    if (!data) void load(wanted.run, wanted.node, key);
  });
}

async function load(runId: string, node: number, key: string): Promise<void> {
  const isWanted = (): boolean => asked.peek()?.run === runId && asked.peek()?.node === node;
  try {
    const data = await api.candidates(runId, node);
    remember(key, data);
    if (isWanted()) candidates.value = { kind: "ready", data };
  } catch (error) {
    if (isWanted()) candidates.value = { kind: "failed", error: asApiError(error) };
  }
}

function remember(key: string, data: NodeCandidates): void {
  known.set(key, data);
  for (const candidate of data.candidates) labels.set(candidate.id, describe(candidate));
  const oldest = known.keys().next().value;
  if (known.size > KEPT && oldest !== undefined) known.delete(oldest);
}

function describe(candidate: NodeCandidate): string {
  const first = model.peek()?.graph.nodes[candidate.nodes[0] ?? 0]?.name ?? "";
  return `${candidate.label} of ${candidate.target} at ${first}`;
}
