// The log of the shown run, while it is open: the lines that the server kept, and those that arrive meanwhile.

import { computed, effect, signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import type { ApiError, Batch, Numbered } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { EVERY_LINE, filteredLines, logLines, type LogFilter, type LogLine } from "../../data/run/log_lines";
import { isShown } from "../display";
import { run } from "./run";
import { listenToRun } from "./stream";

/** The most lines in memory; the server has older ones. */
const LINES_KEPT = 5000;

export type LogState = { kind: "none" } | { kind: "loading" } | { kind: "failed"; error: ApiError } | { kind: "ready"; lines: readonly LogLine[]; isCut: boolean };

export const log = signal<LogState>({ kind: "none" });
export const logFilter = signal<LogFilter>(EVERY_LINE);

export const shownLines = computed((): readonly LogLine[] => (log.value.kind === "ready" ? filteredLines(log.value.lines, logFilter.value) : []));

const wanted = computed(() => (isShown("log") ? run.value?.id : undefined));

/** True while the shown run goes on. After its end the last events may still be on their way. */
const isGoing = computed(() => run.value !== null && !hasEnded(run.value));

/** Keep the log in step with the shown run. */
export function watchLog(): void {
  effect(() => {
    const id = wanted.value;
    log.value = { kind: "none" };
    return id === undefined ? undefined : load(id);
  });
}

/** Fetch the log and append what arrives from then on; returns what ends that. */
function load(id: string): () => void {
  let early: Numbered[] = [];
  let isOver = false;
  let stop: (() => void) | undefined;
  const fetched = (): void => {
    api.log(id).then(
      ({ items, is_cut: isCut }) => {
        if (isOver) return;
        log.value = { kind: "ready", lines: logLines(items), isCut };
        append(early);
        early = [];
      },
      (error: unknown) => {
        if (!isOver) log.value = { kind: "failed", error: asApiError(error) };
      },
    );
  };
  const heard = ({ items, gap }: Batch): void => {
    if (log.peek().kind === "ready") append(items);
    else early.push(...items);
    if (gap) fetched();
  };
  log.value = { kind: "loading" };
  // The log is asked for later than this event was known, so it holds every line up to it.
  const known = run.peek()?.seq ?? 0;
  const after = (): number => Math.max(known, lastLine()?.seq ?? 0);
  const watching = effect(() => {
    if (isGoing.value) stop ??= listenToRun(id, after, heard);
  });
  fetched();
  return () => {
    isOver = true;
    watching();
    stop?.();
  };
}

function lastLine(): LogLine | undefined {
  const known = log.peek();
  return known.kind === "ready" ? known.lines.at(-1) : undefined;
}

/** Append the lines of new events. An event may arrive twice, with the log and live. */
function append(items: readonly Numbered[]): void {
  const known = log.peek();
  if (known.kind !== "ready") return;
  const last = lastLine();
  const more = logLines(
    items.filter((item) => item.seq > (last?.seq ?? 0)),
    last,
  );
  if (more.length === 0) return;
  const lines = [...known.lines, ...more];
  log.value = { kind: "ready", lines: lines.slice(-LINES_KEPT), isCut: known.isCut || lines.length > LINES_KEPT };
}
