// What the user decided, as a history with undo and redo: constraints, targets that are switched off, the accuracy. Each
// decision is first a "what if": the best plan on known costs is shown at once, and kept or discarded; one that cannot hold
// leaves everything as it was.

import { batch, computed, effect, signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import { isSame, regrouped, type Constraint } from "../../data/plan/constraints";
import { planChange, type PlanChange } from "../../data/plan/summary";
import type { ApiError, RunSnapshot, WhatIf, WhatIfRequest } from "../../data/protocol";
import { hasEnded } from "../../data/run/reducer";
import { overlay } from "../display";
import { switchedOff } from "../model/catalogue";
import { accuracyText, ended, keptRun, parseAccuracy, run, showRun, tried } from "../run/run";

/** What a plan has to hold. */
export interface Terms {
  /** Constraints that were decided together are taken back together. */
  groups: readonly (readonly Constraint[])[];
  /** Targets of the run that are switched off. */
  off: readonly string[];
  /** As the user typed it. */
  accuracy: string;
}

interface Entry {
  terms: Terms;
  /** The run that holds them, or on whose costs they are tried; null where they wait for the next run. */
  run: RunSnapshot | null;
  /** What was answered to them; null where the run itself holds them. */
  tried: WhatIf | null;
}

/** A decision that could not hold: what was tried, the places in it that collide, and the switched-off targets that do. */
export interface Refusal {
  error: ApiError;
  tried: readonly Constraint[];
  conflict: readonly number[];
  off: readonly string[];
}

const NO_TERMS: Terms = { groups: [], off: [], accuracy: "" };

const entries = signal<readonly Entry[]>([{ terms: NO_TERMS, run: null, tried: null }]);
const place = signal(0);
const present = computed(() => entries.value[place.value]);

export const terms = computed(() => present.value?.terms ?? NO_TERMS);
export const constraints = computed(() => terms.value.groups.flat());
/** The accuracy is another one than that with which the costs were measured. */
export const isOtherAccuracy = computed(() => {
  const measuredWith = keptRun.value?.base === null ? keptRun.value.accuracy : null;
  return terms.value.accuracy.trim() !== "" && Number(terms.value.accuracy) !== measuredWith;
});
/** How many things there are that could be taken back one by one. */
export const termCount = computed(() => terms.value.groups.length + terms.value.off.length + (isOtherAccuracy.value ? 1 : 0));
export const canUndo = computed(() => place.value > 0);
export const canRedo = computed(() => place.value < entries.value.length - 1);
/** The terms wait for the next run: there was no plan on known costs when they were decided. */
export const isWaiting = computed(() => present.value?.run === null && termCount.value > 0);
/** The answer to what is tried and neither kept nor discarded; null where nothing is. */
export const trial = computed(() => present.value?.tried ?? null);
/** The run of the decision before the present one that was kept; null where there is none. */
export const runBefore = computed(() => {
  const now = present.value?.run?.id;
  const before = entries.value.slice(0, place.value).filter((entry) => entry.tried === null && entry.run !== null && entry.run.id !== now);
  return before[before.length - 1]?.run ?? null;
});
/** The search of a decision goes on. */
export const isDeciding = signal(false);
export const refusal = signal<Refusal | null>(null);
/** What the last decision (or undo) changed; null once something else was shown. */
export const lastChange = signal<PlanChange | null>(null);

/** Begin anew from a run that was opened: its terms are the first entry. A run of this history only moves the place. */
export function adoptRun(snapshot: RunSnapshot | null): void {
  const known = snapshot ? entries.peek().findIndex((entry) => entry.tried === null && entry.run?.id === snapshot.id) : -1;
  batch(() => {
    refusal.value = null;
    if (known >= 0) {
      place.value = known;
    } else {
      entries.value = [{ terms: snapshot ? termsOf(snapshot) : NO_TERMS, run: snapshot, tried: null }];
      place.value = 0;
    }
    mirror();
    lastChange.value = null;
  });
}

function termsOf(snapshot: RunSnapshot): Terms {
  const off = snapshot.counts.map((one) => one.name).filter((name) => !snapshot.targets.includes(name));
  return { groups: regrouped(snapshot.constraints), off, accuracy: snapshot.accuracy === null ? "" : String(snapshot.accuracy) };
}

/** Let the bar at the top show the present terms; a target that the run does not know is let be. */
function mirror(): void {
  const known = new Set(keptRun.peek()?.counts.map((one) => one.name));
  switchedOff.value = new Set([...[...switchedOff.peek()].filter((name) => !known.has(name)), ...terms.peek().off]);
  accuracyText.value = terms.peek().accuracy;
}

/** Keep a run that was started with the present terms: it takes the place of what held them before. */
export function keepRun(snapshot: RunSnapshot): void {
  const accuracy = accuracyText.peek();
  batch(() => {
    entries.value = entries.value.map((entry, i) => (i === place.value ? { terms: { ...entry.terms, accuracy }, run: snapshot, tried: null } : entry));
    lastChange.value = null;
  });
}

/** A kept run that has gone on since is kept as it is now. */
export function watchDecisions(): void {
  effect(() => {
    const now = keptRun.value;
    const known = entries.peek();
    if (!now || !known.some((entry) => entry.run?.id === now.id && entry.run !== now)) return;
    entries.value = known.map((entry) => (entry.run?.id === now.id ? { ...entry, run: now } : entry));
  });
}

/** Add pins, vetoes or cuts, as one decision. */
export function decide(...wanted: readonly Constraint[]): Promise<void> {
  const known = constraints.peek();
  const more = wanted.filter((one) => !known.some((other) => isSame(other, one)));
  if (more.length === 0) return Promise.resolve();
  return attempt({ ...terms.peek(), groups: [...terms.peek().groups, more] });
}

/** Take a group of constraints back, wherever it is in the list. */
export function withdraw(index: number): Promise<void> {
  return attempt({ ...terms.peek(), groups: terms.peek().groups.filter((_, i) => i !== index) });
}

/** Switch a target of the run on or off; one that the run does not know waits for the next run. */
export function switchTarget(name: string): Promise<void> {
  const { off } = terms.peek();
  const isKnown = keptRun.peek()?.counts.some((one) => one.name === name) ?? false;
  if (isKnown) return attempt({ ...terms.peek(), off: off.includes(name) ? off.filter((one) => one !== name) : [...off, name] });
  const all = new Set(switchedOff.peek());
  if (!all.delete(name)) all.add(name);
  switchedOff.value = all;
  return Promise.resolve();
}

/** Take the accuracy that was typed; what is no accuracy stays marked as wrong, and nothing happens. */
export function setAccuracy(text: string): Promise<void> {
  accuracyText.value = text;
  const isNew = text.trim() !== terms.peek().accuracy.trim();
  return isNew && parseAccuracy(text) !== undefined ? attempt({ ...terms.peek(), accuracy: text.trim() }) : Promise.resolve();
}

/** What is asked of the server for terms on the costs of a run. */
export function requestOf(base: RunSnapshot, wanted: Terms): WhatIfRequest {
  const targets = base.counts.map((one) => one.name).filter((name) => !wanted.off.includes(name));
  return { targets, constraints: wanted.groups.flat(), accuracy: parseAccuracy(wanted.accuracy) ?? null };
}

async function attempt(next: Terms): Promise<void> {
  if (isDeciding.peek()) return;
  const base = keptRun.peek();
  if (!base?.plan || !hasEnded(base)) {
    push({ terms: next, run: null, tried: null });
    return;
  }
  const held = entries.peek().find((entry) => entry.tried === null && entry.run?.id === base.id && isEqual(entry.terms, next));
  if (held) {
    push({ terms: next, run: base, tried: null });
    return;
  }
  await busily(next, async () => {
    const answer = await api.whatIf(base.id, requestOf(base, next));
    if (answer.plan) push({ terms: next, run: base, tried: answer });
    else refuse(next, { error: answer.error ?? NOTHING, conflict: answer.conflict, off: answer.off });
  });
}

const NOTHING: ApiError = { code: "no_plan", message: "no plan was found", hint: "" };

function isEqual(a: Terms, b: Terms): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** One decision at a time; what goes wrong is a refusal. */
async function busily(next: Terms, work: () => Promise<void>): Promise<void> {
  isDeciding.value = true;
  try {
    await work();
  } catch (error) {
    refuse(next, { error: asApiError(error), conflict: [], off: [] });
  } finally {
    isDeciding.value = false;
  }
}

function refuse(next: Terms, why: Omit<Refusal, "tried">): void {
  batch(() => {
    refusal.value = { ...why, tried: next.groups.flat() };
    mirror();
  });
}

/** Go on from a run on other costs: a step that can be undone. */
export function adoptCosts(result: RunSnapshot): void {
  push({ terms: termsOf(result), run: result, tried: null });
}

function push(entry: Entry): void {
  batch(() => {
    entries.value = [...entries.value.slice(0, place.value + 1), entry];
    goToEntry(entries.value.length - 1);
  });
}

/** Show the plan of an entry; what it changes is told against the kept plan, and else against what was shown. */
function goToEntry(index: number): void {
  const entry = entries.peek()[index];
  if (!entry) return;
  const shown = run.peek()?.plan;
  batch(() => {
    place.value = index;
    refusal.value = null;
    if (entry.run && entry.run.id !== keptRun.peek()?.id) showRun(entry.run);
    if (entry.run) tried.value = entry.tried;
    if (entry.tried && overlay.peek() === "search") overlay.value = "target";
    mirror();
    const before = entry.tried ? entry.run?.plan : shown;
    const after = run.peek()?.plan;
    lastChange.value = before && after && before !== after ? planChange(before, after) : null;
  });
}

/** Go on from another run that holds the present terms, such as one with a toolchain that was tried; undo brings this one back. */
export function pushRun(snapshot: RunSnapshot): void {
  push({ terms: terms.peek(), run: snapshot, tried: null });
}

/** Step back (-1) or forward (1) in the decisions; the plan of that moment is shown as it was. */
export function step(by: -1 | 1): void {
  if (!isDeciding.peek()) goToEntry(place.peek() + by);
}

/** Keep the plan that is tried, as a run of its own. */
export async function keep(): Promise<void> {
  const entry = present.peek();
  const base = entry?.run;
  if (!entry?.tried || !base || isDeciding.peek()) return;
  await busily(entry.terms, async () => {
    const started = await api.startRun({ model: base.model, base: base.id, ...requestOf(base, entry.terms) });
    const result = await ended(started);
    if (!result.plan || result.state === "failed" || result.state === "cancelled") {
      const error = result.error ?? { code: result.state, message: `the search was ${result.state}`, hint: "" };
      refuse(entry.terms, { error, conflict: result.conflict, off: [] });
      return;
    }
    batch(() => {
      entries.value = entries.value.map((one) => (one === entry ? { terms: entry.terms, run: result, tried: null } : one));
      showRun(result);
    });
  });
}

/** Back to the last plan that was kept; what was tried since can be had again by redo. */
export function discard(): void {
  if (isDeciding.peek() || !trial.peek()) return;
  for (let index = place.peek() - 1; index >= 0; index--) {
    if (entries.peek()[index]?.tried !== null) continue;
    goToEntry(index);
    return;
  }
}
