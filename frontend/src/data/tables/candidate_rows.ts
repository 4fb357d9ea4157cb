// The rows of the table of costs: their operators in words, filters and orders. Pure.

import { reorderedBy, sorted, type Order as OrderBy, type SortKey } from "../../base/sorting";
import { uncertainty } from "../overlays/certainty";
import type { CostedRow, NodeJson } from "../protocol";
import { eachSpan, sizeOf } from "../spans";
import { isThrough } from "../toolchains/rule_tree";

export type ColumnId = "target" | "operators" | "nodes" | "times" | "cost" | "spread" | "samples" | "source" | "regret" | "again" | "reason";

export type CandidateOrder = OrderBy<ColumnId>;

export type Validity = "all" | "valid" | "invalid" | "chosen";

/** `none`: candidates of plans that are as good as the best one; a number: those with a regret of at most this share of the total. */
export type RegretFilter = "all" | "none" | "in-no-plan" | "unknown" | number;

export interface Filter {
  /** Empty for all. */
  target: string;
  /** Text within an operator's name; empty for all. */
  operator: string;
  validity: Validity;
  /** Empty for all. */
  source: string;
  regret: RegretFilter;
  /** The path of a rule through which the candidate came; empty for all. */
  rule: string;
}

export const EVERYTHING: Filter = { target: "", operator: "", validity: "all", source: "", regret: "all", rule: "" };

export function isFiltering(filter: Filter): boolean {
  return (Object.keys(EVERYTHING) as (keyof Filter)[]).some((key) => filter[key] !== EVERYTHING[key]);
}

/** The rows that the filter keeps; `totalS` is the plan's total, of which a regret is a share. */
export function filteredRows(rows: readonly CostedRow[], filter: Filter, nodes: readonly NodeJson[], totalS: number): CostedRow[] {
  const hasOperator = operatorTest(filter.operator, nodes);
  return rows.filter(
    (row) =>
      (filter.target === "" || row.target === filter.target) &&
      (filter.source === "" || row.cost.source === filter.source) &&
      isOfValidity(row, filter.validity) &&
      hasRegret(row, filter.regret, totalS) &&
      (filter.rule === "" || isThrough(row, filter.rule)) &&
      hasOperator(row.spans),
  );
}

function isOfValidity(row: CostedRow, wanted: Validity): boolean {
  if (wanted === "all") return true;
  if (wanted === "chosen") return row.chosen;
  return (row.cost.source === "invalid") === (wanted === "invalid");
}

function hasRegret(row: CostedRow, wanted: RegretFilter, totalS: number): boolean {
  if (wanted === "all") return true;
  if (wanted === "in-no-plan") return row.in_no_plan;
  if (wanted === "unknown") return row.regret_s === null && !row.in_no_plan && row.cost.source !== "invalid";
  if (row.regret_s === null) return false;
  return row.regret_s <= (wanted === "none" ? 0 : wanted * totalS);
}

/** Tests whether a node of a row has an operator with this text in its name. By running sums, so that long rows take no longer. */
function operatorTest(operator: string, nodes: readonly NodeJson[]): (spans: readonly number[]) => boolean {
  const wanted = operator.trim().toLowerCase();
  if (wanted === "") return () => true;
  const before = new Int32Array(nodes.length + 1);
  nodes.forEach((node, i) => (before[i + 1] = (before[i] ?? 0) + (node.op.toLowerCase().includes(wanted) ? 1 : 0)));
  return (spans) => {
    let found = 0;
    eachSpan(spans, (first, last) => (found += (before[last + 1] ?? 0) - (before[first] ?? 0)));
    return found > 0;
  };
}

/** The operators of a candidate in few words; of many the first and the last. */
export function operatorsOf(spans: readonly number[], nodes: readonly NodeJson[]): string {
  const size = sizeOf(spans);
  const op = (node: number | undefined): string => (node === undefined ? "" : (nodes[node]?.op ?? ""));
  if (size > 3) return `${op(spans[0])} … ${op(spans[spans.length - 1])}`;
  const ops: string[] = [];
  eachSpan(spans, (first, last) => {
    for (let node = first; node <= last; node++) ops.push(op(node));
  });
  return ops.join(" + ");
}

const KEYS: Record<ColumnId, (row: CostedRow, nodes: readonly NodeJson[]) => SortKey> = {
  target: (row) => row.target,
  operators: (row, nodes) => operatorsOf(row.spans, nodes),
  nodes: (row) => sizeOf(row.spans),
  times: (row) => row.times,
  cost: (row) => row.cost.seconds,
  spread: ({ cost }) => uncertainty(cost.seconds, cost),
  samples: (row) => row.cost.samples,
  source: (row) => row.cost.source,
  regret: (row) => (row.in_no_plan ? Infinity : row.regret_s),
  again: () => null,
  reason: (row) => (row.cost.stage === "" && row.cost.reason === "" ? null : `${row.cost.stage} ${row.cost.reason}`),
};

/** The rows in this order. */
export function orderedRows(rows: readonly CostedRow[], order: CandidateOrder, nodes: readonly NodeJson[]): CostedRow[] {
  const keyOf = KEYS[order.by];
  return sorted(rows, (row) => keyOf(row, nodes), order.isDown);
}

const DOWN_FIRST: ReadonlySet<ColumnId> = new Set<ColumnId>(["cost", "spread", "nodes", "times", "samples"]);

/** The order after a click on the header of a column. */
export function reorderedRows(order: CandidateOrder, by: ColumnId): CandidateOrder {
  return reorderedBy(order, by, DOWN_FIRST);
}
