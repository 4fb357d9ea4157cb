// Regrets that did not come with the plan, since the model is large. They are fetched a few at a time, for the rows in view.

import { effect, signal } from "@preact/signals";
import { api } from "../../data/api";
import type { CandidateRegret, CostedRow } from "../../data/protocol";
import { run } from "../run/run";

/** The fetched regrets of the shown run, by the candidate's id. */
export const regrets = signal<ReadonlyMap<string, CandidateRegret>>(new Map());

const MOST = 60;
const SOON_MS = 120;

const wanted = new Set<string>();
let isAsking = false;

/** True if the regret of a row is unknown, but can be fetched. */
export function isRegretOpen(row: CostedRow): boolean {
  return row.regret_s === null && !row.in_no_plan && !row.chosen && row.cost.source !== "invalid";
}

/** Fetch a candidate's regret, unless the function that is returned is called before. */
export function wantRegret(id: string): () => void {
  wanted.add(id);
  if (!isAsking) {
    isAsking = true;
    setTimeout(() => void ask(), SOON_MS);
  }
  return () => void wanted.delete(id);
}

async function ask(): Promise<void> {
  const current = run.peek()?.id;
  const some = [...wanted].slice(0, MOST);
  for (const id of some) wanted.delete(id);
  if (current !== undefined && some.length > 0) {
    const found = await api.regrets(current, { candidates: some }).catch(() => null);
    if (run.peek()?.id === current) {
      const told = new Map((found?.regrets ?? []).map((one) => [one.id, one]));
      const nothing = (id: string): CandidateRegret => ({ id, regret_s: null, regret_at_least_s: null, rests_on_unknown: false, in_no_plan: false, regret_basis: "predicted" });
      regrets.value = new Map([...regrets.peek(), ...some.map((id): [string, CandidateRegret] => [id, told.get(id) ?? nothing(id)])]);
    }
  }
  isAsking = wanted.size > 0;
  if (isAsking) await ask();
}

/** Forget all regrets when another run is shown. */
export function watchRegrets(): void {
  let shown: string | undefined;
  effect(() => {
    const id = run.value?.id;
    if (id === shown) return;
    shown = id;
    wanted.clear();
    regrets.value = new Map();
  });
}
