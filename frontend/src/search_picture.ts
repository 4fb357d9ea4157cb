// What the search overlay shows on the graph: while a run goes on, what it is at; afterwards, the step of the replay.

import { computed } from "@preact/signals";
import type { ConsideredPart, ConsideredPlan, Doing, PlanPartition, SearchStand } from "./protocol";
import { replayed, type Picture } from "./replay_picture";
import { nodesIn } from "./spans";
import { run } from "./state/run";
import { hits, overlay } from "./state/selection";

const considered = computed(() => run.value?.considered ?? null);
const doing = computed(() => run.value?.doing ?? null);
const search = computed(() => run.value?.search ?? null);

/** Null where another overlay is on, or there is nothing to show. */
export const picture = computed((): Picture | null => (overlay.value === "search" ? (livePicture(considered.value, doing.value, search.value) ?? replayed.value) : null));

/** A run that measures is at a plan and at a candidate of it; one that searches, at its newest state: what it has placed, and the first node left open. */
export function livePicture(plan: ConsideredPlan | null, now: Doing | null, stand: SearchStand | null): Picture | null {
  if (stand) {
    const frontier = stand.covered < stand.nodes ? stand.covered : null;
    const partitions = stand.placed.map((one, i) => part(`live:${i}`, one.target, one.spans, true));
    return { partitions, tried: null, isRefused: false, frontier, covered: stand.covered, isLive: true };
  }
  if (!plan && !now) return null;
  const tried = now ? part("live:now", now.target, now.spans, false) : null;
  const isTried = ({ target, spans }: ConsideredPart): boolean => now?.target === target && now.spans.join() === spans.join();
  const parts = (plan?.partitions ?? []).filter((one) => !isTried(one));
  const partitions = parts.map((one, i) => part(`live:${i}`, one.target, one.spans, one.is_known));
  return { partitions: tried ? [...partitions, tried] : partitions, tried, isRefused: false, frontier: null, covered: 0, isLive: true };
}

function part(id: string, target: string, spans: readonly number[], isKnown: boolean): PlanPartition {
  const source = isKnown ? "" : "estimate";
  return { id, target, nodes: nodesIn(spans), names: [], ops: [], cost_s: null, spread_s: null, interval_s: null, samples: 0, source, stability: null };
}

const NOTHING: ReadonlySet<string> = new Set();

/** Id of the candidate that is tried, to be drawn with a broken line. */
export const triedIds = computed((): ReadonlySet<string> => (picture.value?.tried ? new Set([picture.value.tried.id]) : NOTHING));

/** Boxes to mark in the graph and the strip: where the search stands; otherwise what was found. */
export const marked = computed((): ReadonlySet<number> => {
  const frontier = picture.value?.frontier ?? null;
  return frontier === null ? hits.value : new Set([frontier]);
});
