// The tab "Toolchains & rules": the rule trees of the shown run with their counts, fetched when the tab is shown, and the shown target.

import { batch, computed, effect, signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import type { ApiError, RunRules, RunSpec, RuleTree } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { EVERYTHING } from "../../data/tables/candidate_rows";
import { isShown, listedRule, showDrawer } from "../display";
import { toolchains } from "../model/catalogue";
import { run } from "../run/run";
import { filter } from "./costs";

export type RulesState = { kind: "none" } | { kind: "loading" } | { kind: "ready"; data: RunRules } | { kind: "failed"; error: ApiError };

export type RulesPage = "rules" | "options" | "described";

export const HOST = "host";
const KEPT = 6;
const known = new Map<string, RunRules>();

export const rules = signal<RulesState>({ kind: "none" });
/** The shown page of the tab. */
export const rulesPage = signal<RulesPage>("rules");
const chosen = signal<string | null>(null);

const wanted = computed(() => {
  const isLooked = isShown("rules") && rulesPage.value === "rules";
  return isLooked && run.value && hasEnded(run.value) && run.value.plan ? run.value.id : null;
});

/** Open a page of the tab. */
export function showRulesPage(page: RulesPage): void {
  batch(() => {
    rulesPage.value = page;
    showDrawer("rules");
  });
}

/** Keep `rules` in step with the run and with what the page displays. */
export function watchRules(): void {
  effect(() => {
    const id = wanted.value;
    const data = id === null ? undefined : known.get(id);
    batch(() => {
      listedRule.value = null;
      rules.value = id === null ? { kind: "none" } : data ? { kind: "ready", data } : { kind: "loading" };
    });
    if (id !== null && !data) void load(id);
  });
}

async function load(id: string): Promise<void> {
  try {
    const data = await api.rules(id);
    known.set(id, data);
    const oldest = known.keys().next().value;
    if (known.size > KEPT && oldest !== undefined) known.delete(oldest);
    if (wanted.peek() === id) rules.value = { kind: "ready", data };
  } catch (error) {
    if (wanted.peek() === id) rules.value = { kind: "failed", error: asApiError(error) };
  }
}

/** The specs of the shown run; none before they are known. */
const specs = computed((): readonly RunSpec[] => (rules.value.kind === "ready" ? rules.value.data.specs : []));

/** The targets whose rules can be shown: all toolchains, other targets of the run, and the host. */
export const targets = computed(() => {
  const names = [...toolchains.value.map((one) => one.name), ...specs.value.flatMap((spec) => spec.targets)];
  return [...new Set([...names.filter((name) => name !== HOST), HOST])];
});

/** The target whose rules are shown: the chosen one, else the first target of the run. */
export const shownTarget = computed(() => {
  if (chosen.value !== null && targets.value.includes(chosen.value)) return chosen.value;
  return run.value?.targets[0] ?? toolchains.value.find((one) => one.usable)?.name ?? targets.value[0] ?? HOST;
});

export function chooseTarget(name: string): void {
  chosen.value = name;
  listedRule.value = null;
}

/** The run's spec of the shown target; null where the run did not use it. */
export const shownSpec = computed(() => specs.value.find((spec) => spec.targets.includes(shownTarget.value)) ?? null);

/** Show the invalid candidates of a target in the table of costs. */
export function showInvalid(target: string): void {
  batch(() => {
    filter.value = { ...EVERYTHING, target, validity: "invalid" };
    showDrawer("costs");
  });
}

/** Show the candidates that came through a rule in the table of costs. */
export function showCandidates(target: string, rule: RuleTree): void {
  batch(() => {
    filter.value = { ...EVERYTHING, target, rule: rule.path };
    showDrawer("costs");
  });
}
