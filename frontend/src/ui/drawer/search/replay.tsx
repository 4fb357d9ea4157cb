// The replay of a search: trace it, play it, step and scrub through it, and read each step in words.

import type { JSX } from "preact";
import { bytes, count, duration, plural } from "../../../base/format";
import { isReport } from "../../../data/config";
import type { TraceFacts } from "../../../data/protocol";
import { searchAt } from "../../../data/replay/frames";
import { stepText } from "../../../data/replay/text";
import { model } from "../../../state/model/model";
import { follows } from "../../../state/replay/follow";
import { dropTrace, traceFacts, replayFrame, goToStep, isPlaying, isLoadingStep, playOrPause, SPEEDS, speed, replayStep, stepBy, traceError, traceSearch, traceState } from "../../../state/replay/player";
import { ErrorCard } from "../../widgets/error_card";
import { StepsAround } from "./replay_steps";

export function Replay(): JSX.Element {
  const known = traceFacts.value;
  const error = traceError.value ?? traceState.value?.error ?? null;
  return (
    <section class="replay" aria-label="Replay">
      {error && <ErrorCard error={error} />}
      {known ? <Player facts={known} /> : !isReport && <Offer />}
    </section>
  );
}

/** The offer to trace the search, or the progress of that. */
function Offer(): JSX.Element | null {
  const state = traceState.value;
  if (state?.state === "tracing") {
    return (
      <p class="replay-row">
        <span role="status">{`Tracing the search: ${plural(state.steps, "step")} so far`}</span>
        <button type="button" class="stop" onClick={() => void dropTrace()}>
          Stop
        </button>
      </p>
    );
  }
  if (!state && !traceError.value) return null;
  return (
    <p class="replay-row">
      <button type="button" onClick={() => void traceSearch()}>
        Trace this search
      </button>
      <span class="muted">and see every step: the states expanded, the candidates tried, and the outcomes. Nothing is measured.</span>
    </p>
  );
}

function Player({ facts: known }: { facts: TraceFacts }): JSX.Element {
  return (
    <>
      <div class="replay-row">
        <Buttons />
        <Slider facts={known} />
        <span class="replay-position">{`step ${count(replayStep.value + 1)} of ${count(known.steps)}`}</span>
        <Speed />
        <label title="Keep the shown step of the search in view">
          <input type="checkbox" checked={follows.value} onChange={(event) => (follows.value = event.currentTarget.checked)} /> follow
        </label>
        <Searches facts={known} />
        <Facts facts={known} />
      </div>
      <StepText facts={known} />
      <div class="columns">
        <StepsAround steps={known.steps} />
        <Counts />
      </div>
    </>
  );
}

function Buttons(): JSX.Element {
  const last = (traceFacts.value?.steps ?? 1) - 1;
  return (
    <div class="segments" role="group" aria-label="Play">
      <button type="button" aria-label="One step back" title="One step back ([)" disabled={replayStep.value === 0} onClick={() => stepBy(-1)}>
        ◂
      </button>
      <button type="button" aria-label={isPlaying.value ? "Pause" : "Play"} title="Play or pause (space)" onClick={playOrPause}>
        {isPlaying.value ? "❚❚" : "▶"}
      </button>
      <button type="button" aria-label="One step on" title="One step on (])" disabled={replayStep.value >= last} onClick={() => stepBy(1)}>
        ▸
      </button>
    </div>
  );
}

function Slider({ facts: known }: { facts: TraceFacts }): JSX.Element {
  const key = (event: KeyboardEvent): void => {
    if (event.key !== " ") return;
    event.preventDefault();
    playOrPause();
  };
  return (
    <input
      type="range"
      aria-label="Step"
      aria-valuetext={`step ${replayStep.value + 1} of ${known.steps}`}
      min={0}
      max={Math.max(0, known.steps - 1)}
      step={1}
      value={replayStep.value}
      onInput={(event) => goToStep(Number(event.currentTarget.value))}
      onKeyDown={key}
    />
  );
}

function Speed(): JSX.Element {
  return (
    <label>
      <span class="muted">speed </span>
      <select value={String(speed.value)} onChange={(event) => (speed.value = Number(event.currentTarget.value))}>
        {SPEEDS.map((one) => (
          <option key={one} value={String(one)}>{`${count(one)} steps a second`}</option>
        ))}
      </select>
    </label>
  );
}

/** A choice of the searches of the run, where it has several, since fusing adjacent partitions searches again. */
function Searches({ facts: known }: { facts: TraceFacts }): JSX.Element | null {
  if (known.searches.length < 2) return null;
  const current = searchAt(known, replayStep.value);
  return (
    <select aria-label="Search" value={String(current?.first ?? 0)} onChange={(event) => goToStep(Number(event.currentTarget.value))}>
      {known.searches.map((one) => (
        <option key={one.first} value={String(one.first)}>
          {one.is_again ? `${one.title}, again` : one.title}
        </option>
      ))}
    </select>
  );
}

function Facts({ facts: known }: { facts: TraceFacts }): JSX.Element {
  const bound = known.is_thinned ? `, cut to decisions past its bound of ${bytes(known.bound_bytes)}` : "";
  const isStopped = known.searches.some((one) => one.result?.stopped);
  return (
    <span class="muted">
      {`trace of ${bytes(known.size_bytes)}${bound}${isStopped ? ", stopped early" : ""}`}{" "}
      {!isReport && (
        <button type="button" class="link" aria-label="Delete the trace" onClick={() => void dropTrace()}>
          delete
        </button>
      )}
    </span>
  );
}

/** The step in words. Screen readers read it at each step, but not while the replay plays. */
function StepText({ facts: known }: { facts: TraceFacts }): JSX.Element {
  const shown = replayFrame.value;
  const nameOf = (node: number): string => model.value?.graph.nodes[node]?.name ?? String(node);
  return (
    <p class={isLoadingStep.value ? "replay-words muted" : "replay-words"} aria-live={isPlaying.value ? "off" : "polite"}>
      {shown ? stepText(shown, known, nameOf) : "…"}
    </p>
  );
}

function Counts(): JSX.Element | null {
  const shown = replayFrame.value;
  if (!shown) return null;
  const { counts } = shown;
  const rows: [string, string, string][] = [
    ["states expanded", count(counts.taken), "settled: no better way leads there"],
    ["states open", count(shown.open), "found and not expanded yet"],
    ["candidates tried", count(counts.found + counts.improved + counts.refused), "each in one state"],
    ["improved", count(counts.improved), "states to which a better way was found"],
    ["not placed", count(counts.refused), "candidates that were tried in vain"],
    ["best plan so far", shown.bestS === null ? "none" : duration(shown.bestS), "of this search"],
  ];
  return (
    <dl class="replay-counts" aria-label={`So far in ${shown.search.title}`}>
      {rows.map(([name, value, says]) => (
        <div key={name} title={says}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  );
}
