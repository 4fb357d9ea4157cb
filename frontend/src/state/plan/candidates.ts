// The candidates that hold the selected node, in a run that has ended, and the reasons where there is none. Cached once fetched.

import { computed, effect, signal, type ReadonlySignal, type Signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import type { ApiError, NodeCandidate, NodeCandidates } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { model } from "../model/model";
import { run } from "../run/run";
import { selectedPartition } from "../selection/selected";
import { selection } from "../selection/selection";
import { tryOut } from "./try_out";

export type CandidatesState = { kind: "none" } | { kind: "loading" } | { kind: "ready"; data: NodeCandidates } | { kind: "failed"; error: ApiError };

const KEPT = 200;
const known = new Map<string, NodeCandidates>();
const labels = new Map<string, string>();

export const candidates = signal<CandidatesState>({ kind: "none" });
/** The candidates of the same node in the plan with a described toolchain, which is tried beside the shown plan. */
export const triedCandidates = signal<CandidatesState>({ kind: "none" });

/** The node whose candidates are wanted: the selected one, or the first of the selected partition. */
const askedNode = computed((): number | null => {
  const chosen = selection.value;
  if (chosen.kind === "box") return chosen.box < (model.value?.graph.nodes.length ?? 0) ? chosen.box : null;
  return selectedPartition.value?.nodes[0] ?? null;
});

interface Question {
  run: string;
  node: number;
}

const asked = computed((): Question | null => {
  const current = run.value;
  const node = askedNode.value;
  return current && hasEnded(current) && node !== null ? { run: current.id, node } : null;
});

/** The same node in the plan with the tried toolchain. */
const askedOfTried = computed((): Question | null => {
  const tried = tryOut.value;
  return tried && asked.value ? { run: tried.after.id, node: asked.value.node } : null;
});

/** The label of a candidate that was fetched before. */
export function candidateLabel(id: string): string | undefined {
  return labels.get(id);
}

/** Keep `candidates` and `triedCandidates` in step with the selection and the runs. */
export function watchCandidates(): void {
  effect(() => follow(asked, candidates));
  effect(() => follow(askedOfTried, triedCandidates));
}

function follow(question: ReadonlySignal<Question | null>, answer: Signal<CandidatesState>): void {
  const wanted = question.value;
  if (!wanted) {
    answer.value = { kind: "none" };
    return;
  }
  const data = known.get(keyOf(wanted));
  answer.value = data ? { kind: "ready", data } : { kind: "loading" };
  if (!data) void load(wanted, question, answer);
}

function keyOf({ run: id, node }: Question): string {
  return `${id}:${node}`;
}

async function load(wanted: Question, question: ReadonlySignal<Question | null>, answer: Signal<CandidatesState>): Promise<void> {
  const isWanted = (): boolean => {
    const now = question.peek();
    return now !== null && keyOf(now) === keyOf(wanted);
  };
  try {
    const data = await api.candidates(wanted.run, wanted.node);
    remember(keyOf(wanted), data);
    if (isWanted()) answer.value = { kind: "ready", data };
  } catch (error) {
    if (isWanted()) answer.value = { kind: "failed", error: asApiError(error) };
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
