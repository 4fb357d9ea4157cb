// The tab "Log": the log of the run, filtered by phase, level and text, and copied as text.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { count, plural } from "../../base/format";
import { PHASES, type RunSnapshot } from "../../data/protocol";
import { asText, clock, EVERY_LINE, type Level, type LogFilter, type LogLine } from "../../data/run/log_lines";
import { copyText } from "../../state/download";
import { log, logFilter, shownLines } from "../../state/run/log";
import { run } from "../../state/run/run";
import { ErrorCard } from "../widgets/error_card";

/** The most lines on the page; copying takes all of them. */
const MOST_SHOWN = 400;

export function LogTab(): JSX.Element {
  const current = run.value;
  const state = log.value;
  if (!current) return <p class="muted">No run yet.</p>;
  if (state.kind === "failed") return <ErrorCard error={state.error} />;
  if (state.kind !== "ready") return <p class="muted">Loading the log…</p>;
  if (state.lines.length === 0) return <Notes run={current} />;
  return (
    <div class="filling">
      <Bar lines={shownLines.value} total={state.lines.length} />
      <Lines lines={shownLines.value} isCut={state.isCut} />
    </div>
  );
}

/** The notes and the end of a run whose log was not kept. */
function Notes({ run: current }: { run: RunSnapshot }): JSX.Element {
  return (
    <>
      {current.error && <ErrorCard error={current.error} />}
      <ol class="log">
        {current.notes.map((note, i) => (
          <li key={i}>{note}</li>
        ))}
      </ol>
      <p class="muted">{`Run ${current.id} of ${current.created.replace("T", " ").slice(0, 16)} on ${current.machine || "an unnamed machine"}; its log was not kept.`}</p>
    </>
  );
}

const LEVELS: readonly [Level, string][] = [
  ["info", "every level"],
  ["warning", "warnings and errors"],
  ["error", "errors"],
];

function Bar({ lines, total }: { lines: readonly LogLine[]; total: number }): JSX.Element {
  const said = useSignal("");
  const now = logFilter.value;
  const keep = (change: Partial<LogFilter>): void => void (logFilter.value = { ...now, ...change });
  const copy = async (): Promise<void> => {
    said.value = (await copyText(asText(lines))) ? `${count(lines.length)} copied` : "could not be copied";
  };
  return (
    <div class="table-bar">
      <div class="filters" role="group" aria-label="Filter">
        <input type="text" aria-label="Text" placeholder="text" autocomplete="off" spellcheck={false} value={now.text} onInput={(event) => keep({ text: event.currentTarget.value })} />
        <select aria-label="Phase" value={now.phase} onChange={(event) => keep({ phase: event.currentTarget.value })}>
          <option value="">every phase</option>
          {PHASES.map((phase) => (
            <option key={phase} value={phase}>
              {phase}
            </option>
          ))}
        </select>
        <select aria-label="Level" value={now.level} onChange={(event) => keep({ level: event.currentTarget.value as Level })}>
          {LEVELS.map(([level, words]) => (
            <option key={level} value={level}>
              {words}
            </option>
          ))}
        </select>
        {now !== EVERY_LINE && (
          <button type="button" class="link" onClick={() => (logFilter.value = EVERY_LINE)}>
            show all
          </button>
        )}
      </div>
      <span class="spacer" />
      <span class="muted" role="status">
        {said.value === "" ? `${count(lines.length)} of ${count(total)}` : said.value}
      </span>
      <button type="button" onClick={() => void copy()} title="Copy these lines as text">
        Copy
      </button>
    </div>
  );
}

function Lines({ lines, isCut }: { lines: readonly LogLine[]; isCut: boolean }): JSX.Element {
  if (lines.length === 0) return <p class="muted">No line passes the filter.</p>;
  const shown = lines.slice(-MOST_SHOWN);
  return (
    <div class="log-lines" role="region" aria-label="Lines of the log" tabIndex={0}>
      {(shown.length < lines.length || isCut) && <p class="muted">{`The newest ${plural(shown.length, "line")}${shown.length < lines.length ? `; copying takes ${count(lines.length)}` : ""}.`}</p>}
      <ol class="log" aria-label="Log">
        {shown.map(({ seq, seconds, phase, level, text }) => (
          <li key={seq} class={level}>
            <time class="muted">{clock(seconds)}</time>
            <span class="muted">{phase}</span>
            <span>
              {level !== "info" && <span class="unseen">{`${level}: `}</span>}
              {text}
            </span>
          </li>
        ))}
      </ol>
    </div>
  );
}
