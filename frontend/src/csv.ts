// Tables as CSV (RFC 4180), and safe to open: what a model names is text to a spreadsheet, and no formula. Pure.

import type { CostedRow, NodeJson } from "./protocol";
import { nodesIn } from "./spans";

export type Cell = string | number | boolean | null;

/** Lines of a CSV file, each ended by CR LF. */
export function csv(header: readonly string[], rows: Iterable<readonly Cell[]>): string {
  const lines = [header.map(cell).join(",")];
  for (const row of rows) lines.push(row.map(cell).join(","));
  return `${lines.join("\r\n")}\r\n`;
}

function cell(value: Cell): string {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

const HEADER = [
  "target", "operators", "nodes", "count", "times", "cost_s", "interval_s", "spread_s", "samples", "source", "regret_s", "in_no_plan", "chosen", "stage", "reason", "rule", "id",
] as const;

/** The table of costs: one line a candidate, in the order given; costs in seconds. */
export function costsCsv(rows: readonly CostedRow[], nodes: readonly NodeJson[]): string {
  const lines = rows.map((row): Cell[] => {
    const inside = nodesIn(row.spans);
    const ops = inside.map((node) => nodes[node]?.op ?? "").join("+");
    const names = inside.map((node) => nodes[node]?.name ?? String(node)).join(";");
    const { seconds, interval_s, spread_s, samples, source, stage, reason } = row.cost;
    return [row.target, ops, names, inside.length, row.times, seconds, interval_s, spread_s, samples, source, row.regret_s, row.in_no_plan, row.chosen, stage, reason, row.rule, row.id];
  });
  return csv(HEADER, lines);
}
