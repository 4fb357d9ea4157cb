// The rows of the list of runs: their texts, filters and orders. Pure.

import { reorderedBy, sorted, type Order, type SortKey } from "../../base/sorting";
import { largestError } from "../plan/verification";
import type { RunSummary } from "../protocol";
import { optionsInText } from "../run/options_form";

export type RunColumn = "name" | "star" | "model" | "when" | "targets" | "options" | "total" | "measured" | "verified" | "state" | "note";
export type RunOrder = Order<RunColumn>;

export interface RunFilter {
  /** Text within the name, the note, the model, an option or a target; empty for all. */
  text: string;
  isStarredOnly: boolean;
  /** Runs of other models, too. */
  isEveryModel: boolean;
}

/** The runs that the filter keeps; `model` is the id of the open one. */
export function filteredRuns(rows: readonly RunSummary[], filter: RunFilter, model: string | undefined): RunSummary[] {
  const words = filter.text.trim().toLowerCase().split(/\s+/).filter(Boolean);
  return rows.filter((row) => {
    if (!filter.isEveryModel && row.model !== model) return false;
    if (filter.isStarredOnly && !row.is_starred) return false;
    const text = [row.name, row.note, row.model_name, kindOf(row), optionsOf(row), ...row.targets].join(" ").toLowerCase();
    return words.every((word) => text.includes(word));
  });
}

/** The name shown for a run without one. */
export function kindOf(row: Pick<RunSummary, "state" | "base" | "remeasured">): string {
  if (row.state === "recorded") return "recorded run";
  if (row.remeasured !== null) return "measured again";
  return row.base === null ? "run" : "re-planned";
}

/** When a run was created, in the user's own time. */
export function whenOf(row: Pick<RunSummary, "created">): string {
  const when = new Date(row.created);
  return Number.isNaN(when.getTime()) ? row.created : when.toLocaleString("en-GB", { day: "numeric", month: "short", year: "2-digit", hour: "2-digit", minute: "2-digit" });
}

/** The options of a run, besides its targets, that differ from the defaults. */
export function optionsOf(row: RunSummary): string {
  const constraints = row.constraints > 0 ? [`${row.constraints} ${row.constraints === 1 ? "constraint" : "constraints"}`] : [];
  return [...(row.base !== null ? ["known costs"] : []), ...constraints, ...optionsInText(row.options)].join(", ");
}

const KEYS: Record<RunColumn, (row: RunSummary) => SortKey> = {
  name: (row) => (row.name || kindOf(row)).toLowerCase(),
  star: (row) => (row.is_starred ? 1 : 0),
  model: (row) => row.model_name,
  when: (row) => row.created,
  targets: (row) => row.targets.join(" "),
  options: (row) => optionsOf(row) || null,
  total: (row) => row.total_s,
  measured: (row) => row.measured_s,
  verified: (row) => largestError(row.verify),
  state: (row) => row.state,
  note: (row) => row.note || null,
};

export function orderedRuns(rows: readonly RunSummary[], order: RunOrder): RunSummary[] {
  return sorted(rows, KEYS[order.by], order.isDown);
}

const DOWN_FIRST: ReadonlySet<RunColumn> = new Set<RunColumn>(["when", "star"]);

/** The order after a click on the header of a column. */
export function reorderedRuns(order: RunOrder, by: RunColumn): RunOrder {
  return reorderedBy(order, by, DOWN_FIRST);
}
