// One step of a traced search as a frame: the placed candidates, the tried one, and the outcome. Pure: a chunk and a step give the
// same frame whatever was shown before. docs/files.md has the format.

import type { TraceCandidate, TraceChunk, TraceFacts, TraceSearch } from "../protocol";
import { eachSpan } from "../spans";

export type StepKind = "begin" | "taken" | "found" | "improved" | "refused" | "plan" | "skipped" | "end";

const KINDS: Record<string, StepKind> = { b: "begin", t: "taken", n: "found", i: "improved", x: "refused", p: "plan", s: "skipped", e: "end" };
const FEMTOSECONDS = 1e15;

export interface StepCounts {
  taken: number;
  found: number;
  improved: number;
  refused: number;
}

export interface ReplayFrame {
  step: number;
  kind: StepKind;
  search: TraceSearch;
  /** The state of the step: where the search begins, the taken, the found, or the one in which a candidate is tried; -1 for none. */
  state: number;
  /** The candidates that are placed in the state, in order; of a plan, all of its candidates. */
  placed: readonly TraceCandidate[];
  /** The tried candidate. */
  candidate: TraceCandidate | null;
  /** Why the candidate was not placed; empty where it was. */
  reason: string;
  /** A lower bound for plans over the state. */
  leastS: number | null;
  /** The total of a plan, where the step is about one. */
  totalS: number | null;
  /** Since the search began. */
  counts: StepCounts;
  /** The number of states that were found and not taken yet. */
  open: number;
  /** The total of the best plan of the search so far. */
  bestS: number | null;
}

interface Indexed {
  came: Map<number, readonly [parent: number, candidate: number]>;
  shown: Map<number, TraceCandidate>;
}

const indices = new WeakMap<TraceChunk, Indexed>();

function indexOf(chunk: TraceChunk): Indexed {
  const known = indices.get(chunk);
  if (known) return known;
  const came: Indexed["came"] = new Map();
  for (let at = 0; at + 2 < chunk.ways.length; at += 3) came.set(chunk.ways[at] ?? -1, [chunk.ways[at + 1] ?? -1, chunk.ways[at + 2] ?? -1]);
  const made = { came, shown: new Map(chunk.shown.map((one): [number, TraceCandidate] => [one.number, one])) };
  indices.set(chunk, made);
  return made;
}

/** The number of the chunk that holds a step. */
export function chunkOf(facts: TraceFacts, step: number): number {
  return Math.floor(step / facts.chunk_steps);
}

/** The first step of a chunk by which so many states are expanded since the trace begins, or the chunk's last step. */
export function stepWith(chunk: TraceChunk, states: number): number {
  let taken = chunk.start.taken;
  for (let at = 0; at < chunk.kinds.length; at++) {
    if (chunk.kinds[at] === "t") taken += 1;
    else if (chunk.kinds[at] === "s") taken = chunk.states[at] ?? taken;
    if (taken >= states) return chunk.first + at;
  }
  return chunk.first + Math.max(0, chunk.kinds.length - 1);
}

/** The search that a step belongs to, or the repeated walk of one. */
export function searchAt(facts: TraceFacts, step: number): TraceSearch | undefined {
  return facts.searches.findLast((one) => one.first <= step) ?? facts.searches[0];
}

interface Step {
  kind: StepKind;
  state: number;
  parent: number;
  candidate: number;
  value: number;
}

function stepAt(chunk: TraceChunk, at: number): Step | undefined {
  const kind = KINDS[chunk.kinds[at] ?? ""];
  const [state, parent, candidate, value] = [chunk.states[at], chunk.parents[at], chunk.candidates[at], chunk.values[at]];
  if (!kind || state === undefined || parent === undefined || candidate === undefined || value === undefined) return undefined;
  return { kind, state, parent, candidate, value };
}

/** The frame of `step`; undefined where the chunk does not hold it. */
export function frameAt(facts: TraceFacts, chunk: TraceChunk, step: number): ReplayFrame | undefined {
  const at = step - chunk.first;
  const move = stepAt(chunk, at);
  const search = searchAt(facts, step);
  if (!move || !search) return undefined;
  const { kind } = move;
  return {
    step,
    kind,
    search,
    state: kind === "skipped" ? -1 : move.state,
    placed: placedAt(chunk, move),
    candidate: hasCandidate(kind) ? (indexOf(chunk).shown.get(move.candidate) ?? null) : null,
    reason: kind === "refused" ? (facts.reasons[move.value] ?? "") : "",
    leastS: leastAt(move, search),
    totalS: hasPlan(kind) && (chunk.plans[move.candidate]?.length ?? 0) > 0 ? move.value / FEMTOSECONDS : null,
    ...counted(chunk, at, search),
    bestS: bestAt(facts, chunk, at),
  };
}

function hasPlan(kind: StepKind): boolean {
  return kind === "plan" || kind === "end";
}

function isPlacing(kind: StepKind): boolean {
  return kind === "found" || kind === "improved";
}

function hasCandidate(kind: StepKind): boolean {
  return isPlacing(kind) || kind === "refused";
}

function placedAt(chunk: TraceChunk, { kind, state, parent, candidate }: Step): TraceCandidate[] {
  if (kind === "skipped") return [];
  if (hasPlan(kind)) return shown(chunk, chunk.plans[candidate] ?? []);
  return pathTo(chunk, isPlacing(kind) ? parent : state);
}

function leastAt({ kind, value }: Step, search: TraceSearch): number | null {
  const isTold = isPlacing(kind) || kind === "taken";
  return isTold && search.bound_s !== null ? search.bound_s + value / FEMTOSECONDS : null;
}

/** The candidates on the way to a state, in order. */
function pathTo(chunk: TraceChunk, state: number): TraceCandidate[] {
  const { came } = indexOf(chunk);
  const numbers: number[] = [];
  for (let link = came.get(state); link && link[0] >= 0; link = came.get(link[0])) numbers.push(link[1]);
  return shown(chunk, numbers.reverse());
}

function shown(chunk: TraceChunk, numbers: readonly number[]): TraceCandidate[] {
  const known = indexOf(chunk).shown;
  return numbers.flatMap((number) => known.get(number) ?? []);
}

const COUNTED: Record<string, keyof StepCounts> = { t: "taken", n: "found", i: "improved", x: "refused" };

function counted(chunk: TraceChunk, at: number, search: TraceSearch): { counts: StepCounts; open: number } {
  let total: StepCounts = { ...chunk.start };
  for (let i = 0; i <= at; i++) {
    const kind = chunk.kinds[i] ?? "";
    const name = COUNTED[kind];
    if (name) total[name] += 1;
    if (kind === "s") total = { taken: chunk.states[i] ?? 0, found: chunk.parents[i] ?? 0, improved: chunk.candidates[i] ?? 0, refused: chunk.values[i] ?? 0 };
  }
  const { before } = search;
  const counts: StepCounts = {
    taken: total.taken - before.taken,
    found: total.found - before.found,
    improved: total.improved - before.improved,
    refused: total.refused - before.refused,
  };
  // The first state counts as open, too: it was not found by a candidate.
  return { counts, open: counts.taken === 0 ? 0 : counts.found + 1 - counts.taken };
}

function bestAt(facts: TraceFacts, chunk: TraceChunk, at: number): number | null {
  const begun = facts.searches.findLast((one) => one.first <= chunk.first + at && !one.is_again)?.first ?? 0;
  let best = begun >= chunk.first ? null : chunk.start.best_s;
  for (let i = Math.max(0, begun - chunk.first); i <= at; i++) {
    if (chunk.kinds[i] === "p") best = Math.min(best ?? Infinity, (chunk.values[i] ?? 0) / FEMTOSECONDS);
  }
  return best;
}

/** The first of `nodes` nodes that no placed candidate holds, which is how far the search is; null where all are held. */
export function frontierOf(placed: readonly TraceCandidate[], nodes: number): number | null {
  const held = new Uint8Array(nodes);
  for (const { spans } of placed) eachSpan(spans, (first, last) => held.fill(1, first, last + 1));
  const first = held.indexOf(0);
  return first < 0 ? null : first;
}
