// The result of the run in one line (best alone → total, speed-up, verified, recorded), or its progress.

import type { JSX } from "preact";
import { changeInDuration, duration, plural, plusMinus, relativeError, speedUp } from "../../base/format";
import { isReport } from "../../data/config";
import { bothText, MEANING, timeText, type Basis as BasisName } from "../../data/plan/basis";
import { headline, isRecorded, measuredBeside, type Headline } from "../../data/plan/summary";
import { isRight, largestError } from "../../data/plan/verification";
import type { RunSnapshot } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { undecidedOf } from "../../data/run/undecided";
import { isDeciding } from "../../state/plan/decisions";
import { exporting, measurePlanAgain } from "../../state/run/export";
import { isActive, run, whatIf } from "../../state/run/run";
import { connection } from "../../state/run/stream";

export function Readout(): JSX.Element | null {
  const current = run.value;
  return (
    <span class="readout" aria-live="polite">
      {connection.value === "disconnected" && <span class="warn">disconnected</span>}
      {isDeciding.value && <span class="muted">re-planning…</span>}
      {current && <RunResult run={current} />}
    </span>
  );
}

function RunResult({ run: current }: { run: RunSnapshot }): JSX.Element | null {
  if (!hasEnded(current)) {
    const best = current.best_s === null ? "" : ` · best ${timeText("predicted", current.best_s)}`;
    return <span class="muted">{`${current.phase ?? current.state}${best}`}</span>;
  }
  if (current.state === "failed") return <span class="bad">failed</span>;
  const figures = headline(current);
  if (!figures) return current.state === "cancelled" ? <span class="muted">cancelled</span> : null;
  const basis = figures.isMeasured ? "measured" : "predicted";
  return (
    <>
      {figures.alone ? (
        <span title={`${figures.alone.name} alone against this plan; ${bothText(basis)}`}>
          <span class="muted word">best alone </span>
          <b>{changeInDuration(figures.alone.totalS, figures.totalS)}</b> <SpeedUp before={figures.alone.totalS} after={figures.totalS} />
        </span>
      ) : (
        <b title={`${basis}: ${MEANING[basis]}`}>{figures.unknown > 0 ? `${plural(figures.unknown, "cost")} not known` : duration(figures.totalS)}</b>
      )}
      {figures.unknown === 0 && <Basis run={current} figures={figures} />}
      <Verified run={current} />
      {current.state === "cancelled" && (
        <span class="muted" title={current.cancelled ? `The best plan so far; ${current.cancelled.missing.join("; ")}` : undefined}>
          cancelled
        </span>
      )}
      <Estimated run={current} />
      <Typed run={current} />
      {undecidedOf(current).length > 0 && (
        <span class="tag" title="Measuring could not tell which of some plans is faster; the tab Search says which, and what would tell them apart">
          undecided
        </span>
      )}
      {isRecorded(current) && (
        <span class="tag" title={`The costs are recorded; measured on ${current.machine}`}>
          recorded
        </span>
      )}
    </>
  );
}

/** Which of the two totals the header shows, and how sure it is. */
function Basis({ run: current, figures }: { run: RunSnapshot; figures: Headline }): JSX.Element {
  const offS = figures.isMeasured ? measuredBeside(current)?.intervalS : current.plan?.total_interval_s;
  const what: BasisName = figures.isMeasured ? "measured" : "predicted";
  const off = plusMinus(figures.totalS, offS ?? null);
  return (
    <span class="muted basis" title={`${timeText(what, figures.totalS, offS ?? null)}: ${MEANING[what]}`}>
      {what} <span class="interval">{off}</span>
    </span>
  );
}

/** A tag where some of the total is estimated, since a target of the plan is only described. */
function Estimated({ run: { plan, described } }: { run: RunSnapshot }): JSX.Element | null {
  const targets = described.filter((name) => plan?.partitions.some((one) => one.target === name));
  if (targets.length === 0) return null;
  return (
    <span class="tag" title={`The costs of ${targets.join(" and ")} are estimates: only described, nothing was measured`}>
      estimate
    </span>
  );
}

/** A tag where some of the total was typed in by the user. */
function Typed({ run: { plan } }: { run: RunSnapshot }): JSX.Element | null {
  const count = plan?.partitions.filter((one) => one.source === "typed").length ?? 0;
  if (count === 0) return null;
  return (
    <span class="tag" title={`The costs of ${plural(count, "partition")} were typed in by hand, and not measured`}>
      typed
    </span>
  );
}

function SpeedUp({ before, after }: { before: number; after: number }): JSX.Element {
  const isFaster = before / after >= 1.005;
  return <span class={isFaster ? "good" : "muted"}>{speedUp(before, after)}</span>;
}

/** The plan is right, but takes another time than was predicted. */
function Gap({ run: current, error, says }: { run: RunSnapshot; error: number; says: string }): JSX.Element {
  const times = [timeText("measured", current.verify?.measured_s ?? 0), timeText("predicted", current.plan?.total_s ?? 0)].join(", ");
  return (
    <>
      <span class="warn" title={`Right within ${relativeError(error)}; but ${says}`}>{`⚠ verified, but ${times}`}</span>
      {!isReport && (
        <button type="button" disabled={isActive.value || exporting.value !== null || whatIf.value !== null} title={`${says}. Build it once more, and measure it whole`} onClick={() => void measurePlanAgain()}>
          Measure again
        </button>
      )}
    </>
  );
}

function Verified({ run: current }: { run: RunSnapshot }): JSX.Element | null {
  const error = largestError(current.verify);
  const accuracy = current.verify?.accuracy ?? null;
  if (error === null) return null;
  if (isRight(current.verify) === false) {
    return <span class="bad" title={`over the accuracy of ${relativeError(accuracy ?? 0)}`}>{`✗ wrong by ${relativeError(error)}`}</span>;
  }
  if (current.verify?.gap) return <Gap run={current} error={error} says={current.verify.gap} />;
  return <span class="good" title="largest relative error against the reference">{`✓ verified ${relativeError(error)}`}</span>;
}
