// The user's pins and vetoes: a history with undo and redo. Each decision searches again over the costs that are known;
// the plan on the page changes when the new one is there, and a decision that cannot hold leaves it as it was.

import { batch, computed, effect, signal } from "@preact/signals";
import { api, asApiError } from "../api";
import { isSame, type Constraint } from "../constraints";
import { planChange, type PlanChange } from "../plan_diff";
import type { ApiError, RunSnapshot } from "../protocol";
import { ended, run, showRun } from "./run";

interface Entry {
  constraints: readonly Constraint[];
  /** The run that holds them; null where they wait for the next run. */
  run: RunSnapshot | null;
}

/** A decision that could not hold: the list that was tried, and the places in it that collide. */
export interface Refusal {
  error: ApiError;
  tried: readonly Constraint[];
  conflict: readonly number[];
}

const entries = signal<readonly Entry[]>([{ constraints: [], run: null }]);
const place = signal(0);

export const constraints = computed(() => entries.value[place.value]?.constraints ?? []);
export const canUndo = computed(() => place.value > 0);
export const canRedo = computed(() => place.value < entries.value.length - 1);
/** The run of the decision before the present one; null where there is none. */
export const runBefore = computed(() => entries.value[place.value - 1]?.run ?? null);
/** The search of a decision goes on. */
export const isDeciding = signal(false);
export const refusal = signal<Refusal | null>(null);
/** What the last decision (or undo) changed; null once something else was shown. */
export const lastChange = signal<PlanChange | null>(null);

/** Begin anew from a run that was opened: its constraints are the first entry. A run of this history only moves the place. */
export function adoptRun(snapshot: RunSnapshot | null): void {
  const known = snapshot ? entries.peek().findIndex((entry) => entry.run?.id === snapshot.id) : -1;
  batch(() => {
    refusal.value = null;
    lastChange.value = null;
    if (known >= 0) {
      place.value = known;
      return;
    }
    entries.value = [{ constraints: snapshot?.constraints ?? [], run: snapshot }];
    place.value = 0;
  });
}

/** Keep a run that was started with the present constraints: it takes the place of the one that held them before. */
export function keepRun(snapshot: RunSnapshot): void {
  batch(() => {
    entries.value = entries.value.map((entry, i) => (i === place.value ? { ...entry, run: snapshot } : entry));
    lastChange.value = null;
  });
}

/** A kept run that has gone on since is kept as it is now. */
export function watchDecisions(): void {
  effect(() => {
    const now = run.value;
    const known = entries.peek();
    if (!now || !known.some((entry) => entry.run?.id === now.id && entry.run !== now)) return;
    entries.value = known.map((entry) => (entry.run?.id === now.id ? { ...entry, run: now } : entry));
  });
}

function push(entry: Entry): void {
  batch(() => {
    entries.value = [...entries.value.slice(0, place.value + 1), entry];
    place.value = entries.value.length - 1;
  });
}

/** Add a pin or veto. */
export function decide(constraint: Constraint): Promise<void> {
  if (constraints.peek().some((known) => isSame(known, constraint))) return Promise.resolve();
  return attempt([...constraints.peek(), constraint]);
}

/** Take one back, wherever it is in the list. */
export function withdraw(index: number): Promise<void> {
  return attempt(constraints.peek().filter((_, i) => i !== index));
}

async function attempt(next: readonly Constraint[]): Promise<void> {
  if (isDeciding.peek()) return;
  const base = run.peek();
  if (!base?.plan) {
    push({ constraints: next, run: null });
    return;
  }
  isDeciding.value = true;
  try {
    const started = await api.startRun({ model: base.model, targets: base.targets, constraints: [...next], base: base.id });
    const result = await ended(started);
    settle(base, next, result);
  } catch (error) {
    refusal.value = { error: asApiError(error), tried: next, conflict: [] };
  } finally {
    isDeciding.value = false;
  }
}

function settle(base: RunSnapshot, next: readonly Constraint[], result: RunSnapshot): void {
  if (!result.plan || result.state === "failed" || result.state === "cancelled") {
    const error = result.error ?? { code: result.state, message: `the search was ${result.state}`, hint: "" };
    refusal.value = { error, tried: next, conflict: result.conflict };
    return;
  }
  batch(() => {
    refusal.value = null;
    push({ constraints: next, run: result });
    show(base, result);
  });
}

function show(before: RunSnapshot | null, after: RunSnapshot): void {
  showRun(after);
  lastChange.value = before?.plan && after.plan ? planChange(before.plan, after.plan) : null;
}

/** Step back (-1) or forward (1) in the decisions; the plan of that moment is shown as it was. */
export function step(by: -1 | 1): void {
  const to = entries.peek()[place.peek() + by];
  if (!to || isDeciding.peek()) return;
  batch(() => {
    place.value += by;
    refusal.value = null;
    const before = run.peek();
    if (to.run && to.run.id !== before?.id) show(before, to.run);
  });
}
