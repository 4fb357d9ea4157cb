// The tab "Charts": one chart at a time, with its summary in words, or its numbers as a table.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { csv } from "../../base/csv";
import { plain } from "../../base/format";
import { during } from "../../base/idle";
import type { Figure } from "../../data/charts/figure";
import { fileName, save, saveText } from "../../state/download";
import { theme } from "../../state/graph/painting";
import { model } from "../../state/model/model";
import { openRun } from "../../state/run/open_run";
import { runError } from "../../state/run/run";
import { plannedRuns } from "../../state/run/runs";
import { chart, estimatesWanted, figure, predictedOf, type ChartId } from "../../state/tables/charts";
import { allRows, pickRow } from "../../state/tables/costs";
import { wantEstimates } from "../../state/tables/estimates";
import { Choice } from "../widgets/choice";
import { SaveMenu, type Format } from "../widgets/save_menu";
import { clear, draw, chartPicture, resize } from "./plot";

const CHARTS: readonly { id: ChartId; content: string; title: string }[] = [
  { id: "totals", content: "Totals", title: "Predicted total by target, and measured total, of every run of this model" },
  { id: "predicted", content: "Predicted", title: "Predicted against measured" },
  { id: "spread", content: "Spread", title: "Cost and spread of each candidate against its number of samples" },
  { id: "convergence", content: "Convergence", title: "Best predicted total and lower bound over time" },
];

const PREDICTED = [
  { id: "plans", content: "plans", title: "The predicted total of each plan against the measured one" },
  { id: "candidates", content: "candidates", title: "The roofline estimate of each candidate against its measured cost" },
] as const;

export function ChartsTab(): JSX.Element {
  const wanted = estimatesWanted.value;
  useEffect(() => {
    if (wanted !== null) void wantEstimates(wanted);
  }, [wanted]);
  const now = figure.value;
  const isTable = useSignal(false);
  const drawn = now !== null && "traces" in now ? now : null;
  return (
    <div class="filling">
      <div class="table-bar">
        <Choice label="Chart" choices={CHARTS} chosen={chart.value} choose={(id) => (chart.value = id)} />
        {chart.value === "predicted" && <Choice label="Predicted of" choices={PREDICTED} chosen={predictedOf.value} choose={(id) => (predictedOf.value = id)} />}
        <span class="spacer" />
        <button type="button" aria-pressed={isTable.value} disabled={!drawn} onClick={() => (isTable.value = !isTable.value)}>
          As a table
        </button>
        {drawn && <SaveMenu what="the chart" formats={formats(drawn)} />}
      </div>
      {now === null && <p class="muted">Loading the numbers…</p>}
      {now !== null && "why" in now && <p class="muted">{now.why}</p>}
      {drawn && (isTable.value ? <Numbers of={drawn} /> : <Drawing of={drawn} />)}
    </div>
  );
}

function Drawing({ of }: { of: Figure }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const colours = theme.value;
  useEffect(() => {
    if (host.current && colours) void draw(host.current, of, colours, isPicking() ? picked : undefined);
  }, [of, colours]);
  useEffect(() => {
    const element = host.current;
    if (!element) return undefined;
    const observer = new ResizeObserver(() => void resize(element));
    observer.observe(element);
    return () => {
      observer.disconnect();
      clear(element);
    };
  }, []);
  return (
    <figure class="chart">
      <div class="plot" ref={host} role="img" aria-label={of.summary} />
      <figcaption class="muted">{of.summary}</figcaption>
    </figure>
  );
}

/** True if the points of the chart are runs or candidates, which a click shows. */
function isPicking(): boolean {
  return chart.peek() === "totals" || chart.peek() === "spread" || isOfCandidates();
}

function isOfCandidates(): boolean {
  return chart.peek() === "predicted" && predictedOf.peek() === "candidates";
}

/** Show the run or the candidate of a clicked point. */
function picked(about: string): void {
  const row = plannedRuns.peek().find((one) => one.id === about);
  if (row) void openRun(row);
  const candidate = allRows.peek().find((one) => one.id === about);
  if (candidate) pickRow(candidate);
}

function isText(cell: unknown): boolean {
  return typeof cell === "string";
}

function Numbers({ of }: { of: Figure }): JSX.Element {
  return (
    <div class="numbers" role="region" aria-label="Chart in numbers" tabIndex={0}>
      <table aria-label="Numbers of the chart">
        <thead>
          <tr>
            {of.header.map((name, at) => (
              <th key={name} scope="col" class={isText(of.rows[0]?.[at]) ? "text" : undefined}>
                {name}
              </th>
            ))}
          </tr>
        </thead>
        <tbody>
          {of.rows.map((cells, i) => (
            <tr key={i}>
              {cells.map((cell, j) => (
                <td key={j} class={isText(cell) ? "text" : undefined}>{typeof cell === "number" ? plain(cell) : (cell ?? "")}</td>
              ))}
            </tr>
          ))}
        </tbody>
      </table>
    </div>
  );
}

function formats(of: Figure): Format[] {
  const name = `${model.peek()?.info.name ?? "model"}-${chart.peek()}${isOfCandidates() ? "-candidates" : ""}`;
  return [
    { name: "SVG", says: "to scale and to edit", save: () => void savePicture(of, name, "svg") },
    { name: "PNG", says: "to paste anywhere", save: () => void savePicture(of, name, "png") },
    { name: "CSV", says: "its numbers, in seconds", save: () => saveText(`${name}.csv`, "text/csv", csv(of.header, of.rows)) },
  ];
}

async function savePicture(of: Figure, name: string, format: "svg" | "png"): Promise<void> {
  const colours = theme.peek();
  if (!colours) return;
  try {
    save(await during("picture", chartPicture(of, colours, format)), fileName(`${name}.${format}`));
  } catch {
    runError.value = { code: "picture", message: "the browser could not make the picture", hint: "save it in another format" };
  }
}
