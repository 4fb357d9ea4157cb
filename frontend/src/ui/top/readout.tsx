// The result of the run in one line (its time, verified, recorded), or its progress. The verdict stands over the graph.

import type { JSX } from "preact";
import { duration, plural, plusMinus, relativeError } from "../../base/format";
import { isReport } from "../../data/config";
import { MEANING, timeText, type Basis as BasisName } from "../../data/plan/basis";
import { isRecorded, unknownCosts } from "../../data/plan/summary";
import { isRight, largestError } from "../../data/plan/verification";
import type { PlanInfo, RunSnapshot } from "../../data/protocol";
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
  if (!current.plan) return current.state === "cancelled" ? <span class="muted">cancelled</span> : null;
  const unknown = unknownCosts(current.plan);
  return (
    <>
      <Time run={current} plan={current.plan} unknown={unknown} />
      <Verified run={current} />
      {current.state === "cancelled" && (
        <span class="muted" title={current.cancelled ? `The best plan so far; ${current.cancelled.missing.join("; ")}` : undefined}>
          cancelled
        </span>
      )}
      <Estimated run={current} />
      <Typed run={current} />
      {undecidedOf(current).length > 0 && (
        <span class="tag" title="Measurements do not tell which of some plans is faster: How it went, Search lists them">
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

/** The time of the plan, timed end to end where it was, and how sure it is. */
function Time({ run: current, plan, unknown }: { run: RunSnapshot; plan: PlanInfo; unknown: number }): JSX.Element {
  const measuredS = current.time?.measured_s ?? null;
  if (measuredS === null && unknown > 0) return <b title={MEANING.predicted}>{`${plural(unknown, "cost")} not known`}</b>;
  const basis: BasisName = measuredS === null ? "predicted" : "measured";
  const [seconds, offS] = measuredS === null ? [plan.total_s, plan.total_interval_s] : [measuredS, current.time?.interval_s ?? null];
  return (
    <span title={`${timeText(basis, seconds, offS)}: ${MEANING[basis]}`}>
      <span class="muted word">the plan takes </span>
      <b>{duration(seconds)}</b>{" "}
      <span class="muted basis">
        {basis} <span class="interval">{plusMinus(seconds, offS)}</span>
      </span>
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
