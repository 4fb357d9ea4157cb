// The cost of each of the present terms, fetched while the view "Pins" shows them.

import { computed, signal } from "@preact/signals";
import { api } from "../../data/api";
import { requestOf } from "../../data/plan/terms";
import type { Effects } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { isShown } from "../display";
import { keptRun } from "../run/run";
import { keepAnswered } from "./answer_for";
import { isDeciding, termCount, terms } from "./decisions";

/** The effects of the present terms; null while they are not known. */
export const effects = signal<Effects | null>(null);

const asked = computed(() => {
  const base = keptRun.value;
  if (!isShown("pins") || isDeciding.value || termCount.value === 0 || !base?.plan || !hasEnded(base)) return null;
  return { run: base.id, body: requestOf(base, terms.value) };
});

/** Keep `effects` in step with the terms; a failure only leaves them out. */
export function watchEffects(): void {
  keepAnswered(asked, effects, ({ run, body }) => api.effects(run, body));
}
