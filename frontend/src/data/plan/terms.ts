// The terms of a plan: the user's constraints, the targets that are switched off, the accuracy, and costs that are typed in. Pure.

import type { RunSnapshot, WhatIfRequest } from "../protocol";
import { regrouped, type Constraint } from "./constraints";

export interface Terms {
  /** Constraints that were decided together, and are taken back together. */
  groups: readonly (readonly Constraint[])[];
  /** Targets of the run that are switched off. */
  off: readonly string[];
  /** As the user typed it; empty for the model's default. */
  accuracy: string;
  /** Seconds that the user typed in, by candidate id. */
  costs: Readonly<Record<string, number>>;
}

export const NO_TERMS: Terms = { groups: [], off: [], accuracy: "", costs: {} };

/** The terms that a run was given. */
export function termsOf(run: RunSnapshot): Terms {
  const off = run.counts.map((one) => one.name).filter((name) => !run.targets.includes(name));
  return { groups: groupsOf(run), off, accuracy: run.accuracy === null ? "" : String(run.accuracy), costs: run.costs };
}

/** The constraints of a run by decision; of a run that does not know its decisions, neighbours that say the same of other nodes. */
function groupsOf({ constraints, groups }: RunSnapshot): Constraint[][] {
  if (groups.length === 0) return regrouped(constraints);
  return groups.map((group) => group.map((index) => constraints[index]).filter((one) => one !== undefined));
}

/** The indices of each group's constraints in the list of them all. */
export function indicesOf(groups: Terms["groups"]): number[][] {
  let count = 0;
  return groups.map((group) => group.map(() => count++));
}

/** The request for the best plan under these terms, on the costs of a run. */
export function requestOf(base: RunSnapshot, terms: Terms): WhatIfRequest {
  const targets = base.counts.map((one) => one.name).filter((name) => !terms.off.includes(name));
  return { targets, constraints: terms.groups.flat(), groups: indicesOf(terms.groups), accuracy: parseAccuracy(terms.accuracy) ?? null, costs: terms.costs };
}

/** True if two terms are equal, their groups in the same order. */
export function areEqual(a: Terms, b: Terms): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}

/** The accuracy as a number; null for the default; undefined where the text is no number between 0 and 1. */
export function parseAccuracy(text: string): number | null | undefined {
  if (text.trim() === "") return null;
  const value = Number(text);
  return Number.isFinite(value) && value > 0 && value < 1 ? value : undefined;
}
