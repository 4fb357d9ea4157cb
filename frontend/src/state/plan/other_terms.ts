// What the present terms bring by target, fetched while the view "Pins" shows them: only for an accuracy or a typed cost, which let targets in.

import { computed, signal } from "@preact/signals";
import { api } from "../../data/api";
import { requestOf } from "../../data/plan/terms";
import type { OtherTerms } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { isShown } from "../display";
import { keptRun } from "../run/run";
import { keepAnswered } from "./answer_for";
import { isDeciding, isOtherAccuracy, terms } from "./decisions";

/** The answer for the present terms; null while it is not known. */
export const otherTerms = signal<OtherTerms | null>(null);

const asked = computed(() => {
  const base = keptRun.value;
  const letsIn = isOtherAccuracy.value || Object.keys(terms.value.costs).length > 0;
  if (!isShown("pins") || isDeciding.value || !letsIn || !base?.plan || !hasEnded(base)) return null;
  return { run: base.id, body: requestOf(base, terms.value) };
});

/** Keep `otherTerms` in step with the terms; a failure only leaves it out. */
export function watchOtherTerms(): void {
  keepAnswered(asked, otherTerms, ({ run, body }) => api.otherTerms(run, body));
}
