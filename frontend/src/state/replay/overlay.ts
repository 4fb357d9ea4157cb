// What the search overlay shows on the graph: while a run goes on, what it is at; afterwards, the step of the replay.

import { computed } from "@preact/signals";
import type { ConsideredPart, ConsideredPlan, Doing, PlanPartition, SearchStand, TraceCandidate, TraceFacts } from "../../data/protocol";
import { frontierOf } from "../../data/replay/frames";
import { nodesIn } from "../../data/spans";
import { overlay } from "../display";
import { run } from "../run/run";
import { hits } from "../selection/selection";
import { traceFacts, replayFrame } from "./player";

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
  const shown = replayFrame.value;
  const known = traceFacts.value;
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

const considered = computed(() => run.value?.considered ?? null);
const doing = computed(() => run.value?.doing ?? null);
const search = computed(() => run.value?.search ?? null);

/** Null where another overlay is on, or there is nothing to show. */
export const searchPicture = computed((): Picture | null => (overlay.value === "search" ? (livePicture(considered.value, doing.value, search.value) ?? replayed.value) : null));

/** A run that measures is at a plan and at a candidate of it; one that searches, at its newest state: what it has placed, and the first node left open. */
export function livePicture(plan: ConsideredPlan | null, now: Doing | null, stand: SearchStand | null): Picture | null {
  if (stand) {
    const frontier = stand.covered < stand.nodes ? stand.covered : null;
    const partitions = stand.placed.map((one, i) => partitionFrom(`live:${i}`, one.target, one.spans, true));
    return { partitions, tried: null, isRefused: false, frontier, covered: stand.covered, isLive: true };
  }
  if (!plan && !now) return null;
  const tried = now ? partitionFrom("live:now", now.target, now.spans, false) : null;
  const isTried = ({ target, spans }: ConsideredPart): boolean => now?.target === target && now.spans.join() === spans.join();
  const parts = (plan?.partitions ?? []).filter((one) => !isTried(one));
  const partitions = parts.map((one, i) => partitionFrom(`live:${i}`, one.target, one.spans, one.is_known));
  return { partitions: tried ? [...partitions, tried] : partitions, tried, isRefused: false, frontier: null, covered: 0, isLive: true };
}

function partitionFrom(id: string, target: string, spans: readonly number[], isKnown: boolean): PlanPartition {
  const source = isKnown ? "" : "estimate";
  return { id, target, nodes: nodesIn(spans), names: [], ops: [], cost_s: null, spread_s: null, interval_s: null, samples: 0, source, stability: null };
}

const NOTHING: ReadonlySet<string> = new Set();

/** Id of the candidate that is tried, to be drawn with a broken line. */
export const triedIds = computed((): ReadonlySet<string> => (searchPicture.value?.tried ? new Set([searchPicture.value.tried.id]) : NOTHING));

/** Boxes to mark in the graph and the strip: where the search stands; otherwise what was found. */
export const marked = computed((): ReadonlySet<number> => {
  const frontier = searchPicture.value?.frontier ?? null;
  return frontier === null ? hits.value : new Set([frontier]);
});
