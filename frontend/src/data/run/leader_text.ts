// The leaderboard of a run that goes on, in words: what is known of each toolchain alone and of the best mix. Pure.

import { duration, plural } from "../../base/format";
import type { Leader } from "../protocol";

/** Name of the row of the best plan of several partitions (`collage_core/documents/leaderboard.py`). */
export const MIX = "best mix";

export function leaderName({ name }: Leader): string {
  return name === MIX ? name : `${name} alone`;
}

/** The time of a row that counts: end to end where that is known. */
export function leaderSeconds({ measured_s, total_s }: Leader): number | null {
  return measured_s ?? total_s;
}

/** The time of a row in words; empty while it is not known. */
export function leaderTime(row: Leader): string {
  const seconds = leaderSeconds(row);
  if (seconds === null) return "";
  const off = row.measured_s === null && row.interval_s !== null ? ` ± ${duration(row.interval_s)}` : "";
  return duration(seconds) + off;
}

/** Return more about a row: what its time rests on, or why it has none. */
export function leaderNote(row: Leader): string {
  if (leaderSeconds(row) === null) return row.reason || "not timed yet";
  const basis = row.measured_s !== null ? "timed end to end" : row.name === MIX ? "predicted" : row.nodes < row.of ? `${row.nodes} of ${plural(row.of, "node")}` : "";
  const parts = row.name === MIX ? `${plural(row.partitions, "partition")} on ${row.targets.join(" and ")}` : "";
  return [basis, parts].filter(Boolean).join(", ");
}
