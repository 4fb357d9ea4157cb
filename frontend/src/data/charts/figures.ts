// Four charts of a run: the total over time, the spread of each cost, the totals of the model's runs by target, and predicted against
// measured totals. Pure.

import { duration, inUnit, percent, plural, unitFor } from "../../base/format";
import { baselineName } from "../plan/baselines";
import { timeText } from "../plan/basis";
import { isRight } from "../plan/verification";
import type { Baseline, ConvergencePoint, CostedRow, RunSnapshot, RunSummary } from "../protocol";
import { kindOf } from "../tables/run_rows";
import { plainText, type Figure, type NoFigure, type Trace } from "./figure";

/** Gives the colour of a target, or of a role such as `accent`. */
export type Paint = (name: string) => string;

/** The best total and the bound over time, each held until its next value. */
export function convergence(points: readonly ConvergencePoint[], paint: Paint): Figure | NoFigure {
  const known = points.filter((point) => point.best_s !== null || point.bound_s !== null || point.estimate_s !== null);
  const last = known[known.length - 1];
  if (!last) return { why: "No history came with this run: it was not measured here." };
  const unit = unitFor(Math.max(...known.map((point) => Math.max(point.best_s ?? 0, point.bound_s ?? 0, point.estimate_s ?? 0))));
  const end = last.seconds + Math.max(0.02, last.seconds * 0.04);
  const line = (name: string, of: (point: ConvergencePoint) => number | null, look: object): Trace => {
    const held = known.filter((point) => of(point) !== null);
    const y = held.map((point) => inUnit(of(point) ?? 0, unit));
    return { name, type: "scatter", mode: "lines+markers", marker: { size: 5 }, x: [...held.map((point) => point.seconds), end], y: [...y, y[y.length - 1]], ...look };
  };
  const estimate = line("estimate on the way", (point) => point.estimate_s, { line: { shape: "hv", color: paint("grey"), width: 1.5, dash: "dot" } });
  const best = known.filter((point) => point.best_s !== null);
  const [first, final] = [best[0]?.best_s ?? null, last.best_s];
  const fell = first !== null && final !== null ? `The best predicted total goes from ${duration(first)} to ${duration(final)} in ${duration(last.seconds)}` : "No plan was found";
  const bound = last.bound_s === null ? "no bound is known" : `no plan is below ${duration(last.bound_s)}`;
  return {
    traces: [
      line("best total, predicted", (point) => point.best_s, { line: { shape: "hv", color: paint("accent"), width: 2 } }),
      line("bound", (point) => point.bound_s, { line: { shape: "hv", color: paint("muted"), width: 2, dash: "dash" } }),
      ...(known.some((point) => point.estimate_s !== null) ? [estimate] : []),
    ],
    axes: { x: { title: { text: "seconds since the run began" }, range: [0, end * 1.02] }, y: { title: { text: `predicted total, ${unit}` } } },
    summary: `${fell}; ${bound}.`,
    header: ["seconds", "best_predicted_s", "bound_s", "estimate_s"],
    rows: known.map((point) => [point.seconds, point.best_s, point.bound_s, point.estimate_s]),
  };
}

export interface Distinct {
  row: CostedRow;
  count: number;
}

/** Each measurement once, with the number of candidates that share it. */
export function distinct(rows: readonly CostedRow[]): Distinct[] {
  const found = new Map<string, Distinct>();
  for (const row of rows) {
    const { seconds, spread_s: spread, samples } = row.cost;
    if (seconds === null || seconds <= 0 || samples === 0) continue;
    const key = [row.target, seconds, spread, samples].join(" ");
    const known = found.get(key);
    if (known) known.count += 1;
    else found.set(key, { row, count: 1 });
  }
  return [...found.values()];
}

/** Cost against number of samples, one point with its spread for each measurement. `nameOf` names a candidate. */
export function spreads(rows: readonly CostedRow[], nameOf: (row: CostedRow) => string, paint: Paint): Figure | NoFigure {
  const all = distinct(rows);
  if (all.length === 0) return { why: "No candidate of this run was measured." };
  const unit = unitFor(Math.max(...all.map(({ row }) => row.cost.seconds ?? 0)));
  const traces = [...new Set(all.map(({ row }) => row.target))].sort().map((target): Trace => {
    const mine = all.filter(({ row }) => row.target === target);
    return {
      name: plainText(target),
      type: "scatter",
      mode: "markers",
      x: mine.map(({ row }) => row.cost.samples),
      y: mine.map(({ row }) => inUnit(row.cost.seconds ?? 0, unit)),
      error_y: {
        type: "data",
        symmetric: false,
        array: mine.map(({ row }) => inUnit(row.cost.spread_s ?? 0, unit)),
        arrayminus: mine.map(({ row }) => inUnit(Math.min(row.cost.spread_s ?? 0, 0.9 * (row.cost.seconds ?? 0)), unit)),
        thickness: 1,
        width: 3,
      },
      marker: { color: paint(target), size: 7, symbol: mine.map(({ row }) => (row.chosen ? "diamond" : "circle")), opacity: 0.85 },
      text: mine.map(({ row, count }) => `${plainText(nameOf(row))}${count > 1 ? ` ×${count}` : ""}${row.chosen ? ", in the plan" : ""}`),
      hovertemplate: `%{text}<br>%{y:.4~r} ${unit}, %{x} samples<extra>%{fullData.name}</extra>`,
      customdata: mine.map(({ row }) => row.id),
    };
  });
  const wide = all.filter(({ row }) => (row.cost.spread_s ?? 0) > 0.1 * (row.cost.seconds ?? 1)).length;
  const samples = all.map(({ row }) => row.cost.samples);
  return {
    traces,
    axes: { x: { title: { text: "samples" }, rangemode: "tozero" }, y: { title: { text: `cost, ${unit}` }, type: "log" } },
    summary: `${plural(all.length, "measurement")} with ${Math.min(...samples)} to ${Math.max(...samples)} samples each; the spread of ${wide} of them is more than 10 % of the cost.`,
    header: ["target", "candidate", "samples", "cost_s", "spread_s", "candidates", "chosen"],
    rows: all.map(({ row, count }) => [row.target, nameOf(row), row.cost.samples, row.cost.seconds, row.cost.spread_s, count, row.chosen]),
  };
}

/** The labels, numbered from the second equal one on: Plotly would draw equal labels as one bar. */
function toldApart(labels: readonly string[]): string[] {
  const times = new Map<string, number>();
  return labels.map((label) => {
    const n = (times.get(label) ?? 0) + 1;
    times.set(label, n);
    return n === 1 ? label : `${label} (${n})`;
  });
}

const MOST_RUNS = 24;
const TRANSITIONS = "transitions";

/** The total of each run of the model by target, newest at the top, with a mark where the whole was measured. `nameOf` names a run. */
export function totals(runs: readonly RunSummary[], nameOf: (run: RunSummary) => string, paint: Paint): Figure | NoFigure {
  const shown = runs.filter((run) => Object.keys(run.by_target).length > 0).slice(0, MOST_RUNS);
  if (shown.length === 0) return { why: "No run of this model has a plan whose costs are all known." };
  const unit = unitFor(Math.max(...shown.map((run) => run.total_s ?? 0)));
  const labels = toldApart(shown.map((run) => plainText(nameOf(run), 34)));
  const targets = [...new Set(shown.flatMap((run) => Object.keys(run.by_target)))].filter((target) => shown.some((run) => (run.by_target[target] ?? 0) > 0)).sort();
  const bar = (name: string, of: (run: RunSummary) => number, colour: string): Trace => ({
    name: plainText(name),
    type: "bar",
    orientation: "h",
    y: labels,
    x: shown.map((run) => inUnit(of(run), unit)),
    marker: { color: colour },
    hovertemplate: `predicted %{x:.4~r} ${unit}<extra>%{fullData.name}</extra>`,
    customdata: shown.map((run) => run.id),
  });
  const timed = shown.map((run, i) => ({ label: labels[i], run })).filter(({ run }) => run.measured_s !== null);
  const marks: Trace = {
    name: "measured",
    type: "scatter",
    mode: "markers",
    y: timed.map(({ label }) => label),
    x: timed.map(({ run }) => inUnit(run.measured_s ?? 0, unit)),
    marker: { color: paint("text"), symbol: "line-ns-open", size: 16, line: { width: 2 } },
    hovertemplate: `%{x:.4~r} ${unit}<extra>measured, the whole plan</extra>`,
    customdata: timed.map(({ run }) => run.id),
  };
  const sorted = [...shown].sort((a, b) => (a.total_s ?? 0) - (b.total_s ?? 0));
  const [least, most] = [sorted[0], sorted[sorted.length - 1]];
  const range = least && most && shown.length > 1 ? `: from ${duration(least.total_s ?? 0)} (${nameOf(least)}) to ${duration(most.total_s ?? 0)} (${nameOf(most)})` : "";
  return {
    traces: [...targets.map((target) => bar(target, (run) => run.by_target[target] ?? 0, paint(target))), bar(TRANSITIONS, (run) => run.moves_s ?? 0, paint("grey")), ...(timed.length > 0 ? [marks] : [])],
    axes: { x: { title: { text: `predicted total, ${unit}` } }, y: { title: { text: "" }, autorange: "reversed" } },
    more: { barmode: "stack", bargap: 0.35 },
    summary: shown.length === 1 && least ? `The predicted total of one run of this model: ${duration(least.total_s ?? 0)}.` : `The predicted totals of ${shown.length} runs of this model${range}.`,
    header: ["run", "name", "created", "predicted_s", ...targets.map((target) => `${target}_s`), "transitions_s", "measured_s", "verified"],
    rows: shown.map((run) => [run.id, run.name || kindOf(run), run.created, run.total_s, ...targets.map((target) => run.by_target[target] ?? 0), run.moves_s, run.measured_s, isRight(run.verify)]),
  };
}

interface Pair {
  name: string;
  sumS: number;
  measuredS: number;
  kind: "this plan" | "its baselines" | "other runs";
}

/** The predicted total against the measured one, of the shown plan, its baselines, and other runs of the model. */
export function predicted(run: RunSnapshot, runs: readonly RunSummary[], nameOf: (run: RunSummary) => string, paint: Paint): Figure | NoFigure {
  const pair = (name: string, sumS: number | null | undefined, measuredS: number | null | undefined, kind: Pair["kind"]): Pair[] =>
    sumS && measuredS ? [{ name, sumS, measuredS, kind }] : [];
  const pairs = [
    ...pair("this plan", run.plan?.total_s, run.time?.measured_s, "this plan"),
    ...run.baselines.flatMap((one: Baseline) => pair(baselineName(one.name), one.total_s, one.measured_s, "its baselines")),
    ...runs.filter((one) => one.id !== run.id).flatMap((one) => pair(nameOf(one), one.total_s, one.measured_s, "other runs")),
  ];
  if (pairs.length === 0) return { why: "No plan of this model was measured yet. Export builds the shown plan and measures it." };
  const unit = unitFor(Math.max(...pairs.map((one) => one.measuredS)));
  const colour = { "this plan": paint("accent"), "its baselines": paint("select"), "other runs": paint("grey") };
  const symbol = { "this plan": "diamond", "its baselines": "circle", "other runs": "square" };
  const traces = (["this plan", "its baselines", "other runs"] as const).flatMap((kind): Trace[] => {
    const mine = pairs.filter((one) => one.kind === kind);
    if (mine.length === 0) return [];
    return [
      {
        name: kind,
        type: "scatter",
        mode: mine.length <= 6 ? "markers+text" : "markers",
        x: mine.map((one) => inUnit(one.sumS, unit)),
        y: mine.map((one) => inUnit(one.measuredS, unit)),
        text: mine.map((one) => plainText(one.name, 24)),
        textposition: kind === "its baselines" ? "bottom right" : "top left",
        marker: { color: colour[kind], symbol: symbol[kind], size: 9 },
        hovertemplate: `%{text}<br>predicted %{x:.4~r} ${unit}<br>measured %{y:.4~r} ${unit}<extra></extra>`,
      },
    ];
  });
  const most = inUnit(Math.max(...pairs.flatMap((one) => [one.sumS, one.measuredS])), unit) * 1.08;
  const worst = pairs.reduce((a, b) => (offBy(b) > offBy(a) ? b : a));
  return {
    traces: [...traces, { name: "as predicted", type: "scatter", mode: "lines", x: [0, most], y: [0, most], line: { color: paint("muted"), dash: "dot", width: 1 }, hoverinfo: "skip" }],
    axes: { x: { title: { text: `predicted total, ${unit}` }, range: [0, most * 1.1] }, y: { title: { text: `measured total, ${unit}` }, range: [0, most] } },
    summary: `${pairs.map((one) => `${one.name}: ${timeText("predicted", one.sumS)}, ${timeText("measured", one.measuredS)}`).slice(0, 6).join("; ")}. The largest error is ${percent(offBy(worst))}, of ${worst.name}.`,
    header: ["plan", "predicted_s", "measured_s", "measured_less_predicted_s"],
    rows: pairs.map((one) => [one.name, one.sumS, one.measuredS, one.measuredS - one.sumS]),
  };
}

function offBy({ sumS, measuredS }: Pair): number {
  return Math.abs(measuredS - sumS) / measuredS;
}
