// The table of costs: its filter, its order and its rows. Choosing a row selects its nodes on the graph.

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

/** The targets and sources that occur, to filter by. */
export const choices = computed(() => ({
  targets: [...new Set(allRows.value.map((row) => row.target))],
  sources: [...new Set(allRows.value.map((row) => row.cost.source))].sort(),
}));

/** Change some fields of the filter. */
export function changeFilter(change: Partial<Filter>): void {
  filter.value = { ...filter.value, ...change };
}

export function sortBy(column: ColumnId): void {
  order.value = reorderedRows(order.value, column);
}

/** Select the nodes of a row and bring them into view; pin and veto are then about its candidate. */
export function pickRow(row: CostedRow): void {
  const nodes = nodesIn(row.spans);
  batch(() => {
    showNodes(nodes);
    focused.value = candidateOf(row, nodes);
  });
}

function candidateOf(row: CostedRow, nodes: number[]): NodeCandidate {
  const { id, target, label, rule, times, cost, chosen, regret_s } = row;
  return { id, target, label, rule, times, cost, estimate_basis: null, chosen, regret_s, regret_at_least_s: regret_s, rests_on_unknown: false, regret_basis: "predicted", over_budget: "", nodes };
}

/** Save the shown rows as CSV. */
export function saveCosts(): void {
  const opened = model.peek();
  if (opened) saveText(`${opened.info.name}-costs.csv`, "text/csv", costsCsv(rows.peek(), opened.graph.nodes));
}
