// The chart of measured costs against roofline estimates, which shows how far estimates can be believed. Pure.

import { inUnit, percent, unitFor } from "../../base/format";
import type { CostedRow, RunEstimates } from "../protocol";
import { plainText, type Figure, type NoFigure, type Trace } from "./figure";
import { distinct, type Distinct, type Paint } from "./figures";

/** A measured cost is far off at more than this many times its estimate, and at less than its reciprocal. */
const FAR = 2;

interface Pair extends Distinct {
  estimateS: number;
  measuredS: number;
}

/** Measured against estimated, a point for each measurement, on logarithmic axes. `nameOf` names a candidate; `machine` measured. */
export function estimated(rows: readonly CostedRow[], estimates: RunEstimates, machine: string, nameOf: (row: CostedRow) => string, paint: Paint): Figure | NoFigure {
  const pairs = distinct(rows).flatMap(({ row, count }): Pair[] => {
    const [estimateS, measuredS] = [estimates.seconds[row.id] ?? 0, row.cost.seconds ?? 0];
    return estimateS > 0 && measuredS > 0 ? [{ row, count, estimateS, measuredS }] : [];
  });
  if (pairs.length === 0) return { why: "No candidate of this run was measured." };
  const all = pairs.flatMap((one) => [one.estimateS, one.measuredS]);
  const [least, most] = [Math.min(...all) / 1.3, Math.max(...all) * 1.3];
  const unit = unitFor(most);
  const targets = [...new Set(pairs.map(({ row }) => row.target))].sort();
  const ends = [least, most].map((seconds) => inUnit(seconds, unit));
  const range = ends.map(Math.log10);
  const line = (name: string, x: (number | null)[], y: (number | null)[], dash: string): Trace => ({
    name, type: "scatter", mode: "lines", x, y, line: { color: paint("muted"), dash, width: 1 }, hoverinfo: "skip",
  });
  const [low = 0, high = 0] = ends;
  return {
    traces: [
      ...targets.map((target) => points(target, pairs.filter(({ row }) => row.target === target), unit, nameOf, paint)),
      line("as estimated", ends, ends, "dash"),
      line(`${FAR} times off`, [low, high / FAR, null, low * FAR, high], [low * FAR, high, null, low, high / FAR], "dot"),
    ],
    axes: { x: { title: { text: `roofline estimate, ${unit}` }, type: "log", range }, y: { title: { text: `measured, ${unit}` }, type: "log", range } },
    summary: `${inText(pairs, targets)} ${estimates.reason.replace("an estimate by roofline", "An estimate here")}. It is no cost.${elsewhere(estimates, machine)}`,
    header: ["target", "candidate", "estimate_s", "measured_s", "measured_by_estimate", "candidates", "chosen"],
    rows: pairs.map(({ row, count, estimateS, measuredS }) => [row.target, nameOf(row), estimateS, measuredS, measuredS / estimateS, count, row.chosen]),
  };
}

function points(target: string, mine: readonly Pair[], unit: ReturnType<typeof unitFor>, nameOf: (row: CostedRow) => string, paint: Paint): Trace {
  return {
    name: plainText(target),
    type: "scatter",
    mode: "markers",
    x: mine.map((one) => inUnit(one.estimateS, unit)),
    y: mine.map((one) => inUnit(one.measuredS, unit)),
    marker: { color: paint(target), size: 7, symbol: mine.map(({ row }) => (row.chosen ? "diamond" : "circle")), opacity: 0.85 },
    text: mine.map(({ row, count, measuredS, estimateS }) => `${plainText(nameOf(row))}${count > 1 ? ` ×${count}` : ""}${row.chosen ? ", in the plan" : ""}<br>${times(measuredS / estimateS)} its estimate`),
    hovertemplate: `%{text}<br>estimate %{x:.4~r} ${unit}<br>measured %{y:.4~r} ${unit}<extra>%{fullData.name}</extra>`,
    customdata: mine.map(({ row }) => row.id),
  };
}

/** The median factor of all measurements and of each target, and how many are far off. */
function inText(pairs: readonly Pair[], targets: readonly string[]): string {
  const factors = pairs.map((one) => one.measuredS / one.estimateS);
  const byTarget = targets.map((target) => `${target} ${times(median(pairs.filter(({ row }) => row.target === target).map((one) => one.measuredS / one.estimateS)))}`);
  const off = factors.filter((factor) => factor > FAR || factor < 1 / FAR);
  const cheaper = off.filter((factor) => factor < 1).length;
  const below = cheaper > 0 ? `, ${cheaper} of them cheaper than estimated` : "";
  const each = targets.length > 1 ? ` (${byTarget.join(", ")})` : "";
  const what = pairs.length === 1 ? "The one measurement takes" : `The median of ${pairs.length} measurements takes`;
  return `${what} ${times(median(factors))} its estimate${each}; ${off.length} (${percent(off.length / pairs.length)}) are more than ${FAR} times off${below}.`;
}

/** A note where the costs are from another machine than the server's, for which the estimates are made. */
function elsewhere(estimates: RunEstimates, machine: string): string {
  return machine === estimates.machine ? "" : ` The estimates are for ${estimates.machine}; the costs were measured on ${machine || "another machine"}.`;
}

function times(factor: number): string {
  return `${factor >= 10 ? Math.round(factor) : factor.toPrecision(2)}×`;
}

function median(values: readonly number[]): number {
  const sorted = [...values].sort((a, b) => a - b);
  const half = Math.floor(sorted.length / 2);
  return sorted.length % 2 === 1 ? (sorted[half] ?? 0) : ((sorted[half - 1] ?? 0) + (sorted[half] ?? 0)) / 2;
}
