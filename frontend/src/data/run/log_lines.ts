// The log of a run: a line of text for each decision, filtered, and as plain text to copy. Pure.

import { count, duration, elapsed, plural, relativeError } from "../../base/format";
import { baselineName } from "../plan/baselines";
import { timeText } from "../plan/basis";
import type { BaselineMeasured, CandidateCosted, Numbered, PHASES, RunEvent, RunStateChanged, Verified } from "../protocol";
import { PHASE_TEXT } from "./progress_text";

export type Level = "info" | "warning" | "error";

export interface LogLine {
  seq: number;
  /** Seconds on the run's clock. */
  seconds: number;
  phase: string;
  level: Level;
  text: string;
}

export interface LogFilter {
  phase: string;
  /** Lines of this level and above. */
  level: Level;
  text: string;
}

export const EVERY_LINE: LogFilter = { phase: "", level: "info", text: "" };

const RANK: Record<Level, number> = { info: 0, warning: 1, error: 2 };

/** The lines for some events, which follow the line `before`. */
export function logLines(items: readonly Numbered[], before?: LogLine): LogLine[] {
  let phase = before?.phase ?? "";
  return items.flatMap(({ seq, at_s, event }) => {
    if (event.type === "PhaseStarted") phase = event.phase;
    const said = words(event);
    const line = said && { seq, seconds: at_s, phase, level: said[0], text: said[1] };
    if (event.type === "RunStateChanged") phase = "";
    return line ?? [];
  });
}

/** The level and text of an event; undefined where it has no line of its own. */
function words(event: RunEvent): [Level, string] | undefined {
  switch (event.type) {
    case "PhaseStarted":
      return ["info", `${PHASE_TEXT[event.phase as (typeof PHASES)[number]] ?? event.phase} …`];
    case "StepStarted":
      return ["info", `step: ${event.step}`];
    case "PhaseEnded":
      return ["info", `${event.phase} took ${elapsed(event.seconds)}`];
    case "CandidatesFound":
      return ["info", `${event.target}: ${plural(event.candidates, "candidate")}, ${count(event.unique)} different; ${count(event.rejected)} rejected`];
    case "CandidateCosted":
      return costed(event);
    case "PlanImproved":
      return ["info", `plan of ${timeText("predicted", event.total_s)} in ${plural(event.partitions.length, "partition")}${event.round > 0 ? `, after fusing adjacent partitions, round ${event.round}` : ""}`];
    case "BaselineMeasured":
      return baseline(event);
    case "PlanDecided":
      return ["info", `decided by the ${event.decided_by}: ${event.name}, ${timeText("measured", event.measured_s)}`];
    case "Verified":
      return verified(event);
    case "Note":
      return ["warning", event.text];
    case "RunStateChanged":
      return changed(event);
    default:
      return undefined;
  }
}

function baseline({ name, measured_s, reason }: BaselineMeasured): [Level, string] {
  const took = measured_s === null ? "not measured" : timeText("measured", measured_s);
  return ["info", `${baselineName(name)}: ${took}${reason === "" ? "" : ` (${reason})`}`];
}

function verified({ max_rel_error, accuracy, measured_s }: Verified): [Level, string] {
  const error = max_rel_error ?? Infinity;
  const isRight = error <= accuracy;
  const errs = `largest relative error ${relativeError(error)}, at most ${relativeError(accuracy)}`;
  return [isRight ? "info" : "error", `${isRight ? "verified" : "wrong"}: ${errs}; ${timeText("measured", measured_s)}`];
}

function costed({ target, label, cost, from_cache, took_s, done, total }: CandidateCosted): [Level, string] {
  const progress = ` (${count(done)} of ${count(total)})`;
  const source = from_cache ? ", known before" : took_s === null ? "" : `, trial of ${elapsed(took_s)}`;
  if (cost.seconds !== null) return ["info", `${target} ${label}: ${duration(cost.seconds)} ${cost.source}${source}${progress}`];
  return ["warning", `${target} ${label}: ${[cost.stage, cost.reason].filter(Boolean).join(", ")}${source}${progress}`];
}

function changed({ state, error }: RunStateChanged): [Level, string] {
  const why = error ? `: ${error.message}${error.hint === "" ? "" : ` (${error.hint})`}` : "";
  return [error ? "error" : "info", `the run is ${state}${why}`];
}

/** The lines that a filter lets through. */
export function filteredLines(lines: readonly LogLine[], { phase, level, text }: LogFilter): LogLine[] {
  const wanted = text.trim().toLowerCase();
  return lines.filter((line) => (phase === "" || line.phase === phase) && RANK[line.level] >= RANK[level] && line.text.toLowerCase().includes(wanted));
}

/** Time of a line on the run's clock: "0:07.3", "12:05.0". */
export function clock(seconds: number): string {
  const tenths = Math.round(seconds * 10);
  const rest = tenths % 600;
  return `${Math.floor(tenths / 600)}:${String(Math.floor(rest / 10)).padStart(2, "0")}.${rest % 10}`;
}

/** The lines as text, without line breaks inside a line. */
export function asText(lines: readonly LogLine[]): string {
  return lines.map(({ seconds, phase, level, text }) => [clock(seconds), phase, level, text.replace(/\s+/g, " ")].join("\t")).join("\n");
}
