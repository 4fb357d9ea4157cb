// What the table of costs shows: its filter and order, and the rows that come out; a row chosen is selected on the graph.

import { batch, computed, signal } from "@preact/signals";
import type { CostedRow, NodeCandidate } from "../../data/protocol";
import { nodesIn } from "../../data/spans";
import { EVERYTHING, filteredRows, orderedRows, reorderedRows, type ColumnId, type Filter, type CandidateOrder } from "../../data/tables/candidate_rows";
import { costsCsv } from "../../data/tables/csv";
import { saveText } from "../download";
import { model } from "../model/model";
import { run } from "../run/run";
import { showNodes } from "../selection/navigation";
import { focused } from "../selection/selection";
import { tableData } from "./candidates";

export const filter = signal<Filter>(EVERYTHING);
export const order = signal<CandidateOrder>({ by: "cost", isDown: true });

const NO_ROWS: readonly CostedRow[] = [];

export const allRows = computed(() => tableData.value?.candidates ?? NO_ROWS);
const kept = computed(() => filteredRows(allRows.value, filter.value, model.value?.graph.nodes ?? [], run.value?.plan?.total_s ?? 0));
/** The rows that the filter keeps, in their order. */
export const rows = computed(() => orderedRows(kept.value, order.value, model.value?.graph.nodes ?? []));

/** What one can filter by: the targets and sources that occur. */
export const choices = computed(() => ({
  targets: [...new Set(allRows.value.map((row) => row.target))],
  sources: [...new Set(allRows.value.map((row) => row.cost.source))].sort(),
}));

/** Change a part of the filter. */
export function changeFilter(change: Partial<Filter>): void {
  filter.value = { ...filter.value, ...change };
}

export function sortBy(column: ColumnId): void {
  order.value = reorderedRows(order.value, column);
}

/** Select a row's nodes on the graph and show them; pins and vetoes are about this candidate then. */
export function pickRow(row: CostedRow): void {
  const nodes = nodesIn(row.spans);
  batch(() => {
    showNodes(nodes);
    focused.value = candidateOf(row, nodes);
  });
}

function candidateOf(row: CostedRow, nodes: number[]): NodeCandidate {
  const { id, target, label, rule, times, cost, chosen, regret_s } = row;
  return { id, target, label, rule, times, cost, supposed: null, chosen, regret_s, regret_at_least_s: regret_s, nodes };
}

/** Save what the table shows now as CSV. */
export function saveCosts(): void {
  const opened = model.peek();
  if (opened) saveText(`${opened.info.name}-costs.csv`, "text/csv", costsCsv(rows.peek(), opened.graph.nodes));
}
