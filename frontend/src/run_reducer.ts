// A run as it goes on: the snapshot after each event. Pure, and the same function as the server's `run_state.apply`,
// but for the ids and names of a plan's partitions, which the final snapshot brings.

import type { PlanPartition, RunEvent, RunSnapshot, TargetCounts } from "./protocol";

const NOTES_KEPT = 200;

/** Whether nothing is going on any more. */
export function hasEnded(run: Pick<RunSnapshot, "state">): boolean {
  return run.state !== "queued" && run.state !== "running";
}

/** The snapshot after `event`, whose number is `seq`; one that is not newer than the snapshot changes nothing. */
export function reduce(run: RunSnapshot, seq: number, event: RunEvent): RunSnapshot {
  return seq <= run.seq ? run : { ...run, ...changes(run, event), seq };
}

function changes(run: RunSnapshot, event: RunEvent): Partial<RunSnapshot> {
  switch (event.type) {
    case "PhaseStarted":
      return { phase: event.phase };
    case "PhaseEnded":
      return {};
    case "CandidatesFound":
      return { counts: counted(run, event.target, () => ({ found: event.candidates, unique: event.unique, rejected: event.rejected })) };
    case "CandidateBuilding":
      return { done: event.done, total: event.total };
    case "CandidateCosted": {
      const field = event.cost.source === "invalid" ? "invalid" : event.from_cache ? "cache_hits" : "measured";
      return { counts: counted(run, event.target, (counts) => ({ [field]: counts[field] + 1 })), done: event.done, total: event.total };
    }
    case "SearchProgress":
      return { lower_bound_s: event.lower_bound_s, best_s: event.best_s ?? run.best_s };
    case "PlanImproved":
      return { best_s: event.total_s, plan: { total_s: event.total_s, partitions: event.partitions.map(uncosted), transitions: [] } };
    case "BaselineMeasured": {
      const { type, ...baseline } = event;
      void type;
      return { baselines: [...run.baselines.filter((known) => known.name !== event.name), baseline] };
    }
    case "Verified":
      return {
        verify: { measured_s: event.measured_s, additive_error_s: null, max_rel_error: event.max_rel_error, accuracy: event.accuracy, reference: null },
      };
    case "Note":
      return { notes: [...run.notes, event.text].slice(-NOTES_KEPT) };
    case "RunStateChanged": {
      const { state, error, conflict, uncovered, artifact } = event;
      return { state, error, conflict, uncovered, artifact, phase: state === "running" ? run.phase : null };
    }
  }
}

function counted(run: RunSnapshot, target: string, change: (counts: TargetCounts) => Partial<TargetCounts>): TargetCounts[] {
  const known = run.counts.some((counts) => counts.name === target);
  const all = known ? run.counts : [...run.counts, { name: target, found: 0, unique: 0, rejected: 0, measured: 0, invalid: 0, cache_hits: 0 }];
  return all.map((counts) => (counts.name === target ? { ...counts, ...change(counts) } : counts));
}

function uncosted([target, nodes]: [string, number[]]): PlanPartition {
  const id = `${target}:${nodes.join()}`;
  return { id, target, nodes, names: [], ops: [], cost_s: null, spread_s: null, samples: 0, source: "", stability: null };
}
