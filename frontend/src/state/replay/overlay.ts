// The search on the graph: the present state of a run that goes on, or else the shown step of the replay.

import { computed } from "@preact/signals";
import type { ConsideredPart, ConsideredPlan, Doing, PlanPartition, SearchStand, TraceCandidate, TraceFacts } from "../../data/protocol";
import { frontierOf } from "../../data/replay/frames";
import { nodesIn } from "../../data/spans";
import { overlay } from "../display";
import { run } from "../run/run";
import { hits } from "../selection/selection";
import { traceFacts, replayFrame } from "./player";

export interface Picture {
  /** The placed candidates; the tried one is last. */
  partitions: readonly PlanPartition[];
  tried: PlanPartition | null;
  isRefused: boolean;
  frontier: number | null;
  /** The number of nodes, from the first, that are covered without naming their partitions. */
  covered: number;
  /** True if it shows a run that goes on, whose partitions of unknown cost are marked. */
  isLive: boolean;
}

/** The shown step of the replay; null where another overlay is on, or where there is no trace. */
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

/** The most candidates that are cached as partitions: more than any step shows. */
const KEPT = 4000;
const made = new WeakMap<TraceFacts, Map<number, PlanPartition>>();

/** A candidate as a partition: the same object every time, so that its hull is made once. */
function partitionOf(known: TraceFacts, candidate: TraceCandidate): PlanPartition {
  const all = made.get(known) ?? new Map<number, PlanPartition>();
  made.set(known, all);
  const { number, target, spans, cost_s, source } = candidate;
  const kept = all.get(number);
  if (kept) return kept;
  const one = { id: `trace:${number}`, target, nodes: nodesIn(spans), names: [], ops: [], cost_s, spread_s: null, interval_s: null, samples: 0, source, stability: null, decided_by: "cost", tuned: null, label: "" };
  if (all.size >= KEPT) all.clear();
  all.set(number, one);
  return one;
}

const considered = computed(() => run.value?.considered ?? null);
const doing = computed(() => run.value?.doing ?? null);
const search = computed(() => run.value?.search ?? null);

/** The picture of the search: under Search the newest state or the step of the replay; under Target, while a run goes on, the best plan so far. Null for nothing. */
export const searchPicture = computed((): Picture | null => {
  if (overlay.value === "target") return livePicture(considered.value, doing.value, null);
  return overlay.value === "search" ? (livePicture(considered.value, doing.value, search.value) ?? replayed.value) : null;
});

/** The state of a run that goes on: the considered plan and the measured candidate, or while it searches the newest state: what it has placed, and the first open node. */
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
  const source = isKnown ? "" : "bound";
  return { id, target, nodes: nodesIn(spans), names: [], ops: [], cost_s: null, spread_s: null, interval_s: null, samples: 0, source, stability: null, decided_by: "cost", tuned: null, label: "" };
}

const NOTHING: ReadonlySet<string> = new Set();

/** The id of the tried candidate, whose hull is dashed. */
export const triedIds = computed((): ReadonlySet<string> => (searchPicture.value?.tried ? new Set([searchPicture.value.tried.id]) : NOTHING));

/** The boxes to mark in the graph and the strip: the first node that the search has not covered, or else the found boxes. */
export const marked = computed((): ReadonlySet<number> => {
  const frontier = searchPicture.value?.frontier ?? null;
  return frontier === null ? hits.value : new Set([frontier]);
});
