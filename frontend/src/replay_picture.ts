// What the replay shows on the graph: what is placed, what is tried, and the first node that is not covered yet.

import { computed } from "@preact/signals";
import type { PlanPartition, TraceCandidate, TraceFacts } from "./protocol";
import { facts, frame } from "./replay_player";
import { frontierOf } from "./replay_trace";
import { nodesIn } from "./spans";
import { overlay } from "./state/selection";

export interface Picture {
  /** What is placed, and last what is tried. */
  partitions: readonly PlanPartition[];
  tried: PlanPartition | null;
  isRefused: boolean;
  frontier: number | null;
  /** So many nodes of the graph, from its first, are covered by whatever it may be. */
  covered: number;
  /** It is of a run that goes on: what it estimates is marked as such. */
  isLive: boolean;
}

/** Null where another overlay is on, or there is no trace. */
export const replayed = computed((): Picture | null => {
  const shown = frame.value;
  const known = facts.value;
  if (overlay.value !== "search" || !shown || !known) return null;
  const tried = shown.candidate ? partitionOf(known, shown.candidate) : null;
  const placed = shown.placed.map((one) => partitionOf(known, one));
  return {
    partitions: tried ? [...placed, tried] : placed,
    tried,
    isRefused: shown.kind === "refused",
    frontier: frontierOf(shown.placed, known.nodes),
    covered: 0,
    isLive: false,
  };
});

/** Candidates that are kept as partitions: more than any picture shows. */
const KEPT = 4000;
const made = new WeakMap<TraceFacts, Map<number, PlanPartition>>();

/** A candidate as the graph draws it: the same object every time, so that its hull is made once. */
function partitionOf(known: TraceFacts, candidate: TraceCandidate): PlanPartition {
  const all = made.get(known) ?? new Map<number, PlanPartition>();
  made.set(known, all);
  const { number, target, spans, cost_s, source } = candidate;
  const kept = all.get(number);
  if (kept) return kept;
  const one = { id: `trace:${number}`, target, nodes: nodesIn(spans), names: [], ops: [], cost_s, spread_s: null, interval_s: null, samples: 0, source, stability: null };
  if (all.size >= KEPT) all.clear();
  all.set(number, one);
  return one;
}
