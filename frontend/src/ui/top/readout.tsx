// The result of the run in one line (best alone → total, speed-up, verified, recorded), or its progress.

import type { JSX } from "preact";
import { changeInDuration, duration, relativeError, speedUp } from "../../base/format";
import { headline, isRecorded } from "../../data/plan/summary";
import { isRight, largestError } from "../../data/plan/verification";
import type { RunSnapshot } from "../../data/protocol";
import { hasEnded } from "../../data/run/reducer";
import { undecidedOf } from "../../data/run/undecided";
import { isDeciding } from "../../state/plan/decisions";
import { run } from "../../state/run/run";
import { connection } from "../../state/run/stream";

export function Readout(): JSX.Element | null {
  const current = run.value;
  return (
    <span class="readout" aria-live="polite">
      {connection.value === "disconnected" && <span class="warn">disconnected</span>}
      {isDeciding.value && <span class="muted">searching again…</span>}
      {current && <RunResult run={current} />}
    </span>
  );
}

function RunResult({ run: current }: { run: RunSnapshot }): JSX.Element | null {
  if (!hasEnded(current)) {
    const best = current.best_s === null ? "" : ` · best ${duration(current.best_s)}`;
    return <span class="muted">{`${current.phase ?? current.state}${best}`}</span>;
  }
  if (current.state === "failed") return <span class="bad">failed</span>;
  const figures = headline(current);
  if (!figures) return current.state === "cancelled" ? <span class="muted">cancelled</span> : null;
  const basis = figures.isMeasured ? "both measured end to end" : "both as the sum of their costs";
  return (
    <>
      {figures.alone ? (
        <span title={`${figures.alone.name} alone against this plan; ${basis}`}>
          <span class="muted word">best alone </span>
          <b>{changeInDuration(figures.alone.totalS, figures.totalS)}</b> <SpeedUp before={figures.alone.totalS} after={figures.totalS} />
        </span>
      ) : (
        <b title={basis}>{duration(figures.totalS)}</b>
      )}
      <Verified run={current} />
      {current.state === "cancelled" && <span class="muted">cancelled</span>}
      <Estimated run={current} />
      {undecidedOf(current).length > 0 && (
        <span class="tag" title="Measuring could not tell which of some plans is faster; the tab Search says which, and goes on">
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

function SpeedUp({ before, after }: { before: number; after: number }): JSX.Element {
  const isFaster = before / after >= 1.005;
  return <span class={isFaster ? "good" : "muted"}>{speedUp(before, after)}</span>;
}

function Verified({ run: current }: { run: RunSnapshot }): JSX.Element | null {
  const error = largestError(current.verify);
  const accuracy = current.verify?.accuracy ?? null;
  if (error === null) return null;
  if (isRight(current.verify) === false) {
    return <span class="bad" title={`over the accuracy of ${relativeError(accuracy ?? 0)}`}>{`✗ wrong by ${relativeError(error)}`}</span>;
  }
  return <span class="good" title="largest relative error against the reference">{`✓ verified ${relativeError(error)}`}</span>;
}
