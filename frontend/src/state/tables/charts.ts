// The shown chart and its figure, made from the shown run, the table of candidates and the list of runs.

import { computed, signal } from "@preact/signals";
import { estimated } from "../../data/charts/estimated";
import type { Figure, NoFigure } from "../../data/charts/figure";
import { convergence, predicted, spreads, totals, type Paint } from "../../data/charts/figures";
import type { CostedRow, RunSnapshot, RunSummary } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { operatorsOf } from "../../data/tables/candidate_rows";
import { whenOf } from "../../data/tables/run_rows";
import { isShown } from "../display";
import { theme } from "../graph/painting";
import { styleOf } from "../model/catalogue";
import { model } from "../model/model";
import { run } from "../run/run";
import { plannedRuns } from "../run/runs";
import { table } from "./candidates";
import { estimates } from "./estimates";

export type ChartId = "convergence" | "spread" | "totals" | "predicted";

export const chart = signal<ChartId>("totals");

/** The subject of the chart Predicted: whole plans, or candidates. */
export const predictedOf = signal<"plans" | "candidates">("plans");

/** The run whose estimates the shown chart needs; null for none. */
export const estimatesWanted = computed(() => {
  const isWanted = isShown("charts") && chart.value === "predicted" && predictedOf.value === "candidates";
  return isWanted && run.value?.plan && hasEnded(run.value) ? run.value.id : null;
});

/** The colours of targets and roles. */
const paint = computed((): Paint => {
  const colours = theme.value;
  const roles: Record<string, string> = { accent: colours?.accent ?? "", muted: colours?.muted ?? "", text: colours?.text ?? "", select: colours?.select ?? "", grey: styleOf("host").base };
  return (name) => roles[name] ?? styleOf(name).base;
});

/** The id of the shown run. Charts that depend on nothing else of the run are not drawn again at each of its events. */
const shownId = computed(() => run.value?.id);

/** The figure of the chart, or why there is none; null while its data is being fetched. */
export const figure = computed((): Figure | NoFigure | null => {
  const id = shownId.value;
  const nameOf = (one: RunSummary): string => `${one.id === id ? "▸ " : ""}${one.name || whenOf(one)}`;
  if (chart.value === "totals") return totals(plannedRuns.value, nameOf, paint.value);
  const current = run.value;
  if (!current) return { why: "No run yet." };
  switch (chart.value) {
    case "convergence":
      return convergence(current.convergence, paint.value);
    case "predicted":
      if (predictedOf.value === "plans") return predicted(current, plannedRuns.value, nameOf, paint.value);
      return ofCandidates(current, (rows, opsOf) => {
        const known = estimates.value;
        if (known.kind === "failed" && known.run === current.id) return { why: `There are no estimates: ${known.error.message}.` };
        return known.kind === "ready" && known.data.run === current.id ? estimated(rows, known.data, current.machine, opsOf, paint.value) : null;
      });
    case "spread":
      return ofCandidates(current, (rows, opsOf) => spreads(rows, opsOf, paint.value));
  }
});

/** The figure of a chart of candidates, or why there is none. */
function ofCandidates(current: RunSnapshot, make: (rows: readonly CostedRow[], opsOf: (row: CostedRow) => string) => Figure | NoFigure | null): Figure | NoFigure | null {
  if (!hasEnded(current)) return { why: "The run goes on; its costs are shown when it ends." };
  if (!current.plan || table.value.kind === "failed") return { why: "Nothing was kept of this run's candidates." };
  const nodes = model.value?.graph.nodes ?? [];
  return table.value.kind === "ready" ? make(table.value.data.candidates, (row) => operatorsOf(row.spans, nodes)) : null;
}
