// The overlay Coverage: for one target, which nodes it could take, and why it cannot take the others.

import { computed } from "@preact/signals";
import { coverageOf as coverageFrom, type NodeCoverage } from "../../data/overlays/coverage";
import { coverageTarget, overlay } from "../display";
import { model } from "../model/model";
import { run } from "../run/run";
import { tableData } from "../tables/candidates";

/** The targets to choose from: those of the run, in its order. */
export const coverageTargets = computed(() => run.value?.targets ?? []);

/** The target whose coverage is shown: the chosen one, else the first. */
export const coveredTarget = computed(() => {
  const targets = coverageTargets.value;
  return targets.find((one) => one === coverageTarget.value) ?? targets[0] ?? null;
});

/** For each node whether the target could take it; null while that is not known, or not shown. */
export const coverage = computed((): readonly NodeCoverage[] | null => {
  const target = coveredTarget.value;
  if (overlay.value !== "coverage" || !target || !tableData.value || !model.value) return null;
  return coverageFrom(target, tableData.value, model.value.graph.nodes.length);
});

/** Show the coverage of a target by its number, from 1. */
export function showCoverage(number: number): void {
  const target = coverageTargets.peek()[number - 1];
  if (target === undefined) return;
  coverageTarget.value = target;
  overlay.value = "coverage";
}
