// The progress of a run in words: its activity, the time of a trial, the time remaining, and what is kept when it is stopped. Pure.

import { count, duration, elapsed, plural } from "../../base/format";
import { PHASES, type BodyProgress, type Comparing, type Doing, type PhaseTime, type RunSnapshot, type SearchStand } from "../protocol";
import { sizeOf } from "../spans";
import { hasEnded } from "./ended";

export type Phase = (typeof PHASES)[number];

export const PHASE_TEXT: Record<Phase, string> = {
  load: "reading the model",
  specs: "asking the toolchains for their rules",
  candidates: "finding candidates",
  costs: "building and measuring candidates",
  search: "searching for the best plan",
  merge: "fusing adjacent partitions",
  rewrite: "assembling the partitioned model",
  verify: "comparing with the reference",
  baselines: "measuring each target alone",
};

/** Steps of the measuring loop that are called otherwise in words. */
const STEP_TEXT: Record<string, string> = { merge: "fusing adjacent partitions", repeat: "re-timing", tune: "tuning" };

/** A phase in words; its name where the page does not know it. */
export function phaseText(phase: string): string {
  return PHASES.some((one) => one === phase) ? PHASE_TEXT[phase as Phase] : phase;
}

/** The run's phase; undefined where it has none, or one that the page does not know. */
export function phaseOf(run: RunSnapshot): Phase | undefined {
  return PHASES.find((one) => one === run.phase);
}

/** The present activity of the run in words. */
export function activityText(run: RunSnapshot): string {
  if (run.state === "queued") return `Waiting for ${run.waits_for || "another run"} to end: one measures at a time`;
  const phase = phaseOf(run);
  if (!phase) return "Starting";
  if (run.doing && run.doing.repetition > 1) return `Re-timing ${candidateText(run.doing)} for ${run.doing.target}, round ${run.doing.repetition}`;
  if (run.doing) return `Building and timing ${candidateText(run.doing)} for ${run.doing.target}${progressText(run)}`;
  if (run.comparing) return comparingText(run.comparing);
  if (run.body) return bodyText(run.body);
  if (run.search) {
    const { states, covered, nodes } = run.search;
    return `Searching: ${plural(states, "state")} expanded, ${count(covered)} of ${plural(nodes, "node")} covered by the newest`;
  }
  return capitalised(PHASE_TEXT[phase]) + stepText(run) + (phase === "costs" ? progressText(run) : "");
}

/** The nodes that the search has covered, what that costs, and why it goes on from there; or why the present candidate is timed. Empty where there is nothing to explain. */
export function whyText({ search, doing, step, considered }: RunSnapshot): string {
  if (search) return stateText(search);
  if (doing && doing.repetition > 1) return "The best plans rest on its cost, which is not sure enough yet.";
  if (step === "largest first") return "The largest candidate of each toolchain comes first: it shows what that toolchain takes alone.";
  const unknown = considered?.partitions.filter((one) => !one.is_known).length ?? 0;
  if (!considered || unknown === 0) return "";
  return `The best plan by the costs and bounds so far takes ${duration(considered.total_s)}; ${count(unknown)} of its ${plural(considered.partitions.length, "partition")} ${unknown === 1 ? "was" : "were"} never timed, and what it rests on is timed next.`;
}

function stateText({ placed, nodes, covered, frontier, placed_s, least_s }: SearchStand): string {
  const held = new Map<string, number>();
  for (const { target, spans } of placed) held.set(target, (held.get(target) ?? 0) + sizeOf(spans));
  const by = [...held].map(([target, size]) => `${plural(size, "node")} by ${target}`).join(", ");
  const cost = by === "" ? "The newest state covers nothing." : `The newest state: ${by}; ${duration(placed_s)} together${least_s === null ? ", unknown costs at their bounds" : ""}.`;
  const bound = least_s ? ` No plan is below ${duration(least_s)}.` : "";
  const why = frontier > 1 && covered < nodes ? ` Of ${count(frontier)} open states this one promises the least, so the search goes on from it.` : "";
  return cost + bound + why;
}

/** The step of the measuring loop, where it says more than the phase. */
function stepText({ phase, step }: RunSnapshot): string {
  return step && step !== phase ? ` (${STEP_TEXT[step] ?? step})` : "";
}

function comparingText({ doing, name, done, total }: Comparing): string {
  if (doing === "build") return `Building other plans to time beside it: ${name}, ${count(done + 1)} of ${count(total)}`;
  return `Timing ${name || "whole plans"} in turns, round ${count(done + 1)} of about ${count(total)}`;
}

function bodyText({ doing, name, number, count: bodies, done, total }: BodyProgress): string {
  if (doing === "measure") return `Measuring ${name} on the host, with its bodies as planned`;
  return `Searching ${name}, body ${count(number)} of ${count(bodies)}${total > 0 ? `: ${count(done)} of ${plural(total, "cost")} known` : ""}`;
}

const OPERATORS_NAMED = 3;

/** The first operators of a candidate, and how many more there are. */
function candidateText({ label, spans }: Doing): string {
  const named = label.split("+").slice(0, OPERATORS_NAMED);
  const more = sizeOf(spans) - named.length;
  return `${named.join(" + ")}${more > 0 ? ` and ${count(more)} more` : ""}`;
}

/** The phase of the run in a few words. */
export function briefText(run: RunSnapshot): string {
  const phase = phaseOf(run);
  if (!phase) return run.state === "queued" ? "waiting for another run" : "starting";
  return PHASE_TEXT[phase] + (phase === "costs" && run.total > 0 ? ` · ${count(run.done)} of ${count(run.total)}` : "");
}

function progressText(run: RunSnapshot): string {
  return run.total > 0 ? `, ${count(run.done)} of ${count(run.total)} known` : "";
}

function capitalised(text: string): string {
  return text.charAt(0).toUpperCase() + text.slice(1);
}

/** How long a trial takes with each target, the slowest first; empty before the first trial. */
export function trialTimeText(run: RunSnapshot): string {
  const tried = run.counts.filter((one) => one.trials > 0).map((one) => ({ name: one.name, eachS: one.trials_s / one.trials }));
  if (tried.length === 0) return "";
  const each = tried.sort((a, b) => b.eachS - a.eachS).map(({ name, eachS }) => `${elapsed(eachS)} with ${name}`);
  return `a trial takes ${each.join(", ")}`;
}

/** The time remaining in words; empty where it is not known, or no time is left to speak of. */
export function remainingText(run: RunSnapshot, nowS: number): string {
  const left = remainingS(run, nowS);
  if (left === null || left < 1) return "";
  return `about ${elapsed(left)} left`;
}

/** The estimated time until the answer in seconds; null where it is not known. */
export function remainingS(run: RunSnapshot, nowS: number): number | null {
  return run.ends_s === null || hasEnded(run) ? null : Math.max(0, run.ends_s - nowS);
}

export type PhaseStatus = "done" | "now" | "stopped" | "todo";

export interface PhaseState {
  phase: Phase;
  status: PhaseStatus;
  seconds: number | null;
}

/** All phases in their order with their status, and the time that they took or have taken so far. */
export function phaseStates(run: RunSnapshot, nowS: number): PhaseState[] {
  const known = new Map(run.phases.map((one) => [one.phase, one]));
  return PHASES.map((phase) => {
    const time = known.get(phase);
    const status = statusOf(run, phase, time);
    return { phase, status: status, seconds: status === "now" && time?.started_s ? Math.max(0, nowS - time.started_s) : (time?.seconds ?? null) };
  });
}

function statusOf(run: RunSnapshot, phase: Phase, time: PhaseTime | undefined): PhaseStatus {
  if (!hasEnded(run) && run.phase === phase) return "now";
  if (!time) return "todo";
  return time.seconds === null ? "stopped" : "done";
}

/** The results that a stopped run keeps, in words. */
export function keptText(run: RunSnapshot): string {
  const trials = run.counts.reduce((sum, one) => sum + one.trials, 0);
  const known = run.counts.reduce((sum, one) => sum + one.measured + one.invalid + one.cache_hits, 0);
  if (trials > 0) return `${plural(trials, "measured cost")} ${trials === 1 ? "is" : "are"} kept: the next run goes on from there`;
  return known > 0 ? "Nothing was lost: all costs that it knew had been measured before" : "Nothing had been measured yet";
}

/** Whose costs the plan of a recorded run, or of one that came in a session, stands on. No machine is named where none measured: costs may be mock ones. */
export function recordedText({ state, machine, created }: RunSnapshot): string {
  const at = machine === "" ? "" : ` on ${machine}`;
  return state === "recorded" ? `recorded${at}, ${created.slice(0, 10)}` : `re-planned over ${at === "" ? "recorded costs" : `costs recorded${at}`}`;
}
