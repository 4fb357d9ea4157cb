// The user's decisions, as a history with undo and redo: pins, vetoes and cuts, switched-off targets, the accuracy, costs typed in. Each decision is
// a "what if" at first: the best plan under it on known costs is shown at once, and the user keeps or discards it. A decision that
// cannot hold leaves everything as it was.

import { batch, computed, effect, signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import { cutBetween, isSame, pinExactly, pinNodes, vetoCandidate, vetoNodes, type Constraint } from "../../data/plan/constraints";
import { planChange, type PlanChange } from "../../data/plan/summary";
import { areEqual, indicesOf, NO_TERMS, parseAccuracy, requestOf, termsOf, type Terms } from "../../data/plan/terms";
import type { ApiError, NodeCandidate, RunSnapshot, WhatIf } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { overlay } from "../display";
import { switchedOff } from "../model/catalogue";
import { model, namesOf } from "../model/model";
import { accuracyText, ended, keptRun, partitionOf, run, showRun, whatIf } from "../run/run";
import { selectedNodes, selectedPartition } from "../selection/selected";
import { focused } from "../selection/selection";

/** One state of the history. */
interface Entry {
  terms: Terms;
  /** The run that holds the terms, or on whose costs they are tried; null where the terms wait for the next run. */
  run: RunSnapshot | null;
  /** The server's answer to the terms; null where the run itself holds them. */
  answer: WhatIf | null;
}

/** A decision that cannot hold: the wanted terms, the indices of their groups that collide, and the switched-off targets that do. */
export interface Refusal {
  error: ApiError;
  wanted: Terms;
  groups: readonly number[];
  off: readonly string[];
}

const entries = signal<readonly Entry[]>([{ terms: NO_TERMS, run: null, answer: null }]);
/** The entry that is shown. */
const index = signal(0);
const present = computed(() => entries.value[index.value]);

export const terms = computed(() => present.value?.terms ?? NO_TERMS);
export const constraints = computed(() => terms.value.groups.flat());
/** True if the accuracy is another one than that with which the costs were measured. */
export const isOtherAccuracy = computed(() => {
  const measuredWith = keptRun.value?.base === null ? keptRun.value.accuracy : null;
  return terms.value.accuracy.trim() !== "" && Number(terms.value.accuracy) !== measuredWith;
});
/** The number of terms that the user can take back one by one. */
export const termCount = computed(() => terms.value.groups.length + terms.value.off.length + Object.keys(terms.value.costs).length + (isOtherAccuracy.value ? 1 : 0));
export const canUndo = computed(() => index.value > 0);
export const canRedo = computed(() => index.value < entries.value.length - 1);
/** True if the terms wait for the next run: there was no plan on known costs when they were decided. */
export const isWaiting = computed(() => present.value?.run === null && termCount.value > 0);
/** The run that was kept before the present one; null where there is none. */
export const runBefore = computed(() => {
  const now = present.value?.run?.id;
  const before = entries.value.slice(0, index.value).filter((entry) => entry.answer === null && entry.run !== null && entry.run.id !== now);
  return before[before.length - 1]?.run ?? null;
});
/** True if the search for a decision goes on. */
export const isDeciding = signal(false);
export const refusal = signal<Refusal | null>(null);
/** The change that the last decision, undo or redo made; null once something else was shown. */
export const lastChange = signal<PlanChange | null>(null);

/** Pin the candidate in focus exactly; else the selected partition exactly, or each selected node to its present target. */
export function pin(): void {
  const candidate = focused.peek() ?? selectedPartition.peek();
  if (candidate) pinCandidate(candidate);
  else void decide(...[...selectedByTarget()].map(([target, names]) => pinNodes(names, target)));
}

/** Veto the candidate in focus; else the present target for each selected node. */
export function veto(): void {
  const candidate = focused.peek();
  if (candidate) vetoThisCandidate(candidate);
  else void decide(...[...selectedByTarget()].map(([target, names]) => vetoNodes(names, target)));
}

/** Cut between two selected neighbours; else all around the selection. */
export function cut(): void {
  const nodes = selectedNodes.peek();
  const { into, out, between } = cutsOf(nodes);
  void decide(...(nodes.length === 2 && between.length > 0 ? between : [...into, ...out]));
}

export function pinCandidate({ nodes, target }: Pick<NodeCandidate, "nodes" | "target">): void {
  void decide(pinExactly(namesOf(nodes), target));
}

export function vetoThisCandidate({ id }: NodeCandidate): void {
  void decide(vetoCandidate(id));
}

/** The names of the selected nodes by their present targets; nodes of no target, or of the host, are left out. */
function selectedByTarget(): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const node of selectedNodes.peek()) {
    const target = partitionOf.peek().get(node)?.target;
    if (target === undefined || target === "host") continue;
    groups.set(target, [...(groups.get(target) ?? []), ...namesOf([node])]);
  }
  return groups;
}

/** The possible cuts at some nodes: on every edge into them, out of them, and between them. */
export function cutsOf(nodes: readonly number[]): Record<"into" | "out" | "between", Constraint[]> {
  const inside = new Set(nodes);
  const cuts = { into: [] as Constraint[], out: [] as Constraint[], between: [] as Constraint[] };
  for (const { from, to } of model.peek()?.built.edges ?? []) {
    const [isFrom, isTo] = [inside.has(from), inside.has(to)];
    const [a, b] = namesOf([from, to]);
    if ((!isFrom && !isTo) || a === undefined || b === undefined) continue;
    cuts[isFrom && isTo ? "between" : isFrom ? "out" : "into"].push(cutBetween(a, b));
  }
  return cuts;
}

/** Add pins, vetoes or cuts, as one decision; those that hold already are left out. */
export function decide(...wanted: readonly Constraint[]): Promise<void> {
  const known = constraints.peek();
  const more = wanted.filter((one) => !known.some((other) => isSame(other, one)));
  if (more.length === 0) return Promise.resolve();
  return attempt({ ...terms.peek(), groups: [...terms.peek().groups, more] });
}

/** Take back the group of constraints at this index of the list. */
export function withdraw(group: number): Promise<void> {
  return attempt({ ...terms.peek(), groups: terms.peek().groups.filter((_, i) => i !== group) });
}

/** Decide the refused terms without one group of constraints, by its index, or without one switched-off target, by its name. */
export function decideWithout({ wanted }: Pick<Refusal, "wanted">, one: number | string): Promise<void> {
  return attempt({ ...wanted, groups: wanted.groups.filter((_, i) => i !== one), off: wanted.off.filter((name) => name !== one) });
}

/** Switch a target of the run on or off; a target that the run does not know is switched for the next run. */
export function switchTarget(name: string): Promise<void> {
  const { off } = terms.peek();
  const isKnown = keptRun.peek()?.counts.some((one) => one.name === name) ?? false;
  if (isKnown) return attempt({ ...terms.peek(), off: off.includes(name) ? off.filter((one) => one !== name) : [...off, name] });
  const all = new Set(switchedOff.peek());
  if (!all.delete(name)) all.add(name);
  switchedOff.value = all;
  return Promise.resolve();
}

/** Take the accuracy that was typed. A text that is no accuracy stays in its field, marked as wrong, and changes nothing. */
export function setAccuracy(text: string): Promise<void> {
  accuracyText.value = text;
  const isNew = text.trim() !== terms.peek().accuracy.trim();
  return isNew && parseAccuracy(text) !== undefined ? attempt({ ...terms.peek(), accuracy: text.trim() }) : Promise.resolve();
}

/** Let a candidate cost this many seconds, which the user typed in; null for the cost that is known. */
export function setCost(id: string, seconds: number | null): Promise<void> {
  const others = Object.fromEntries(Object.entries(terms.peek().costs).filter(([one]) => one !== id));
  return attempt({ ...terms.peek(), costs: seconds === null ? others : { ...others, [id]: seconds } });
}

/** Ask for the best plan under other terms and show it; without a plan on known costs the terms wait for the next run. */
async function attempt(next: Terms): Promise<void> {
  if (isDeciding.peek()) return;
  const base = keptRun.peek();
  if (!base?.plan || !hasEnded(base)) {
    push({ terms: next, run: null, answer: null });
    return;
  }
  const isKept = entries.peek().some((entry) => entry.answer === null && entry.run?.id === base.id && areEqual(entry.terms, next));
  if (isKept) {
    push({ terms: next, run: base, answer: null });
    return;
  }
  await decidingOn(next, async () => {
    const answer = await api.whatIf(base.id, requestOf(base, next));
    if (answer.plan) push({ terms: next, run: base, answer });
    else refuse(next, { error: answer.error ?? NO_PLAN, conflict: answer.conflict, off: answer.off });
  });
}

const NO_PLAN: ApiError = { code: "no_plan", message: "no plan was found", hint: "" };

/** Do one decision at a time; an error on the way refuses it. */
async function decidingOn(next: Terms, work: () => Promise<void>): Promise<void> {
  isDeciding.value = true;
  try {
    await work();
  } catch (error) {
    refuse(next, { error: asApiError(error), conflict: [], off: [] });
  } finally {
    isDeciding.value = false;
  }
}

/** Refuse terms; `conflict` has the indices of the constraints that collide, in the list of them all. */
function refuse(next: Terms, { error, conflict, off }: Pick<WhatIf, "conflict" | "off"> & { error: ApiError }): void {
  const groups = indicesOf(next.groups).flatMap((group, i) => (group.some((index) => conflict.includes(index)) ? [i] : []));
  batch(() => {
    refusal.value = { error, wanted: next, groups, off };
    mirror();
  });
}

/** Append an entry after the present one and show it; entries that could be redone are gone. */
function push(entry: Entry): void {
  batch(() => {
    entries.value = [...entries.value.slice(0, index.value + 1), entry];
    goToEntry(entries.value.length - 1);
  });
}

/** Show the plan of an entry. A what-if is compared with the kept plan; any other plan with the one that was shown. */
function goToEntry(next: number): void {
  const entry = entries.peek()[next];
  if (!entry) return;
  const shown = run.peek()?.plan;
  batch(() => {
    index.value = next;
    refusal.value = null;
    if (entry.run && entry.run.id !== keptRun.peek()?.id) showRun(entry.run);
    whatIf.value = entry.answer;
    if (entry.answer && overlay.peek() === "search") overlay.value = "target";
    mirror();
    const before = entry.answer ? entry.run?.plan : shown;
    const after = run.peek()?.plan;
    lastChange.value = before && after && before !== after ? planChange(before, after, entry.answer?.change_text) : null;
  });
}

/** Write the present terms into the bar at the top; a target that the run does not know stays as it is. */
function mirror(): void {
  const known = new Set(keptRun.peek()?.counts.map((one) => one.name));
  switchedOff.value = new Set([...[...switchedOff.peek()].filter((name) => !known.has(name)), ...terms.peek().off]);
  accuracyText.value = terms.peek().accuracy;
}

/** Go one entry back (-1) or forward (1); its plan is shown as it was. */
export function stepHistory(by: -1 | 1): void {
  if (!isDeciding.peek()) goToEntry(index.peek() + by);
}

/** Go back to the last kept plan; redo brings the discarded ones back. */
export function discard(): void {
  if (isDeciding.peek() || !whatIf.peek()) return;
  const kept = entries.peek().findLastIndex((entry, i) => i < index.peek() && entry.answer === null);
  goToEntry(kept);
}

/** Keep the plan of the what-if, as a run of its own. */
export async function keep(): Promise<void> {
  const entry = present.peek();
  const base = entry?.run;
  if (!entry?.answer || !base || isDeciding.peek()) return;
  await decidingOn(entry.terms, async () => {
    const started = await api.startRun({ model: base.model, base: base.id, ...requestOf(base, entry.terms) });
    const result = await ended(started);
    if (!result.plan || result.state === "failed" || result.state === "cancelled") {
      const error = result.error ?? { code: result.state, message: `the search was ${result.state}`, hint: "" };
      refuse(entry.terms, { error, conflict: result.conflict, off: [] });
      return;
    }
    batch(() => {
      entries.value = entries.value.map((one) => (one === entry ? { terms: entry.terms, run: result, answer: null } : one));
      showRun(result);
    });
  });
}

/** Begin a new history with a run that was opened: its terms are the first entry. A run of this history is gone to instead. */
export function adoptRun(opened: RunSnapshot | null): void {
  const known = opened ? entries.peek().findIndex((entry) => entry.answer === null && entry.run?.id === opened.id) : -1;
  batch(() => {
    refusal.value = null;
    if (known < 0) entries.value = [{ terms: opened ? termsOf(opened) : NO_TERMS, run: opened, answer: null }];
    index.value = Math.max(0, known);
    mirror();
    lastChange.value = null;
  });
}

/** Let a run that was started with the present terms hold them, but for costs that were typed in: it takes the place of the present entry. */
export function keepRun(started: RunSnapshot): void {
  const accuracy = accuracyText.peek();
  batch(() => {
    entries.value = entries.value.map((entry, i) => (i === index.value ? { terms: { ...entry.terms, accuracy, costs: {} }, run: started, answer: null } : entry));
    lastChange.value = null;
  });
}

/** Go on from a run with its own terms, as a step that can be undone: one with another toolchain, or on other costs. */
export function goOnFrom(result: RunSnapshot, held: Terms = termsOf(result)): void {
  push({ terms: held, run: result, answer: null });
}

/** Keep the entries' runs in step with the kept run, which may still change. */
export function watchDecisions(): void {
  effect(() => {
    const now = keptRun.value;
    const known = entries.peek();
    if (!now || !known.some((entry) => entry.run?.id === now.id && entry.run !== now)) return;
    entries.value = known.map((entry) => (entry.run?.id === now.id ? { ...entry, run: now } : entry));
  });
}
