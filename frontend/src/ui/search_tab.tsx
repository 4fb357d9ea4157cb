// The search as it goes on: phase, counts per target, the best total falling against the bound.

import type { JSX } from "preact";
import { count, duration } from "../format";
import { PHASES, type RunSnapshot } from "../protocol";
import { facts } from "../replay_player";
import { hasEnded } from "../run_reducer";
import { history, run } from "../state/run";
import { Convergence } from "./convergence";
import { Badge, ErrorCard } from "./parts";
import { Replay } from "./replay";

const PHASE_WORDS: Record<(typeof PHASES)[number], string> = {
  load: "reading the model",
  specs: "asking the toolchains for their rules",
  candidates: "finding candidates",
  costs: "building and measuring candidates",
  search: "searching for the best plan",
  merge: "trying neighbours as one",
  rewrite: "assembling the partitioned model",
  verify: "comparing with the reference",
  baselines: "measuring each target alone",
};

/** One line: where the run stands. */
export function SearchWords(): JSX.Element | null {
  const current = run.value;
  if (!current) return null;
  return <span class="search-words muted">{words(current)}</span>;
}

function words(current: RunSnapshot): string {
  const measured = current.counts.reduce((sum, one) => sum + one.measured, 0);
  if (!hasEnded(current)) {
    const phase = PHASES.find((one) => one === current.phase);
    const progress = current.total > 0 && current.phase === "costs" ? ` · ${count(current.done)} of ${count(current.total)}` : "";
    return (phase ? PHASE_WORDS[phase] : current.state === "queued" ? "waiting for another run" : "starting") + progress;
  }
  const proof = current.optimal === true ? "optimal · " : "";
  if (current.state === "recorded") return `${proof}recorded on ${current.machine || "another machine"}, ${current.created.slice(0, 10)}`;
  if (current.state !== "done") return current.state;
  if (current.recorded) return `${proof}searched again over costs recorded on ${current.machine || "another machine"}`;
  return current.base === null ? `${proof}${count(measured)} distinct candidates measured` : `${proof}searched again over known costs`;
}

export function SearchTab(): JSX.Element {
  const current = run.value;
  if (!current) return <p class="muted">No run yet. Choose targets and press Run; what it does is shown here as it happens.</p>;
  const isTraced = facts.value !== null;
  return (
    <div class="search">
      {current.state === "failed" && current.error && <ErrorCard error={current.error} />}
      {!hasEnded(current) && (
        <div class="progress">
          <progress aria-label="Candidates that are known" max={Math.max(1, current.total)} value={current.phase === "costs" ? current.done : current.plan ? current.total : 0} />
        </div>
      )}
      {isTraced && <Replay />}
      <div class="columns">
        {history.value.length > 1 && <Convergence history={history.value} />}
        {current.best_s !== null && <Best run={current} />}
        <Counts run={current} />
      </div>
      {!isTraced && hasEnded(current) && current.plan && <Replay />}
    </div>
  );
}

function Best({ run: current }: { run: RunSnapshot }): JSX.Element {
  return (
    <dl class="best">
      <dt>{hasEnded(current) ? "total" : "best total so far"}</dt>
      <dd>{current.best_s === null ? "" : duration(current.best_s)}</dd>
      <dt title="no plan can be faster than this">lower bound</dt>
      <dd>{current.lower_bound_s === null ? "not known" : duration(current.lower_bound_s)}</dd>
    </dl>
  );
}

function Counts({ run: current }: { run: RunSnapshot }): JSX.Element {
  return (
    <table class="counts">
      <thead>
        <tr>
          <th scope="col">target</th>
          <th scope="col">found</th>
          <th scope="col" title="equal computations are measured once">
            distinct
          </th>
          <th scope="col">measured</th>
          <th scope="col">failed</th>
          <th scope="col">from cache</th>
          <th scope="col">rejected</th>
        </tr>
      </thead>
      <tbody>
        {current.counts.map((one) => (
          <tr key={one.name}>
            <th scope="row">
              <Badge target={one.name} /> {one.name}
            </th>
            <td>{count(one.found)}</td>
            <td>{count(one.unique)}</td>
            <td>{count(one.measured)}</td>
            <td>{count(one.invalid)}</td>
            <td>{count(one.cache_hits)}</td>
            <td>{count(one.rejected)}</td>
          </tr>
        ))}
      </tbody>
    </table>
  );
}
