// The progress of a run: the phases with their times, its present activity and the time remaining, and the counts of each target.

import type { JSX } from "preact";
import { count, duration, elapsed } from "../../../base/format";
import { MEANING } from "../../../data/plan/basis";
import type { RunSnapshot } from "../../../data/protocol";
import { activityText, remainingText, trialTimeText, whyText, PHASE_TEXT, phaseStates, phaseOf, type PhaseState } from "../../../data/run/progress_text";
import { hasEnded } from "../../../data/run/ended";
import { overlay } from "../../../state/display";
import { statesToReplay } from "../../../state/replay/player";
import { nowS } from "../../../state/run/clock";
import { Badge } from "../../widgets/badge";

const SIGNS = { done: "✓", now: "●", stopped: "✕", todo: "" } as const;
const ARIA_TEXT = { done: "done", now: "goes on", stopped: "was stopped", todo: "not done" } as const;

export function PhaseLine({ run }: { run: RunSnapshot }): JSX.Element {
  return (
    <ol class="phases" aria-label="Phases">
      {phaseStates(run, nowS.value).map((state) => (
        <Phase key={state.phase} {...state} />
      ))}
    </ol>
  );
}

function Phase({ phase, status, seconds }: PhaseState): JSX.Element {
  return (
    <li class={status} aria-current={status === "now" ? "step" : undefined} title={`${PHASE_TEXT[phase]}: ${ARIA_TEXT[status]}`}>
      <span aria-hidden="true">{SIGNS[status]}</span> {phase} <span class="unseen">{ARIA_TEXT[status]}</span>
      {seconds !== null && <span class="muted">{elapsed(seconds)}</span>}
    </li>
  );
}

/** From this time on the time of a trial is shown. */
const LONG_S = 3;

/** The present activity of the run, with its time and the time remaining. */
export function Now({ run }: { run: RunSnapshot }): JSX.Element {
  const left = remainingText(run, nowS.value);
  const [pace, isMeasuring] = [trialTimeText(run), phaseOf(run) === "costs"];
  const sinceS = run.doing ? nowS.value - run.doing.since_s : 0;
  return (
    <div class="doing">
      <p>
        <span class="now-words">{activityText(run)}</span>
        {sinceS >= LONG_S && <span class="muted">{` · for ${elapsed(sinceS)} now`}</span>}
        {left !== "" && <span class="muted">{` · ${left}`}</span>}
        {isMeasuring && pace !== "" && <span class="muted">{` · ${pace}`}</span>}
        {overlay.value !== "search" && (run.considered || run.search) && (
          <button type="button" class="link" onClick={() => (overlay.value = "search")}>
            show on the graph
          </button>
        )}
        {run.search && <ReplayLink states={run.search.states} />}
      </p>
      {whyText(run) !== "" && <p class="muted">{whyText(run)}</p>}
      {isMeasuring && <progress aria-label="Candidates that are known" max={Math.max(1, run.total)} value={run.done} />}
    </div>
  );
}

/** A link to the newest state in the replay, which there is once the run has ended. */
function ReplayLink({ states }: { states: number }): JSX.Element {
  if (statesToReplay.value !== null) return <span class="muted">{` · the replay begins at state ${count(statesToReplay.value)} when the run has ended`}</span>;
  return (
    <button type="button" class="link" title="Traces the search when the run has ended, and shows it at this state" onClick={() => (statesToReplay.value = states)}>
      replay from here
    </button>
  );
}

export function Totals({ run }: { run: RunSnapshot }): JSX.Element {
  const isMeasuring = run.considered !== null;
  const bound = isMeasuring ? (run.considered?.total_s ?? null) : run.lower_bound_s;
  return (
    <dl class="best">
      <dt title={MEANING.predicted}>{hasEnded(run) ? "predicted" : "best so far, predicted"}</dt>
      <dd>{run.best_s === null ? <span class="muted">none yet</span> : duration(run.best_s)}</dd>
      <dt title={isMeasuring ? "an estimate: a cost that is not measured counts with the lowest value that it is likely to have" : "no plan can be faster than this"}>
        {isMeasuring ? "estimated bound" : "lower bound"}
      </dt>
      <dd>{bound === null ? <span class="muted">not known</span> : duration(bound)}</dd>
    </dl>
  );
}

const COLUMNS = [
  ["found", "candidates that the rules found"],
  ["computations", "equal candidates are one computation, which is measured once"],
  ["built", "trials whose candidate was built"],
  ["measured", "trials that gave a cost"],
  ["failed", "computations that the target cannot take, with the reason in the table of costs"],
  ["from cache", "their cost was known before"],
  ["skipped (cannot win)", "not measured: no better plan has them, even at the lowest cost that they may have"],
  ["rejected", "sub-graphs that became no candidate"],
] as const;

export function Counts({ run }: { run: RunSnapshot }): JSX.Element {
  return (
    <table class="counts" aria-label="Counts">
      <thead>
        <tr>
          <th scope="col">target</th>
          {COLUMNS.map(([name, says]) => (
            <th key={name} scope="col" title={says}>
              {name}
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {run.counts.map((one) => (
          <tr key={one.name}>
            <th scope="row">
              <Badge target={one.name} /> {one.name}
            </th>
            {[one.found, one.unique, one.built, one.measured, one.invalid, one.cache_hits, one.spared, one.rejected].map((value, i) => (
              <td key={COLUMNS[i]?.[0]}>{count(value)}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
