// Computes the snapshot of a run after each event. Pure, and equal to what the server does with its snapshot, but for the ids and
// names of a plan's partitions, which come with the final snapshot.

import type {
  BaselineMeasured, CandidateBuilding, CandidateCosted, ComparingPlans, ConvergencePoint, Numbered, PhaseTime, PlanDecided, PlanPartition, RunEvent, RunSnapshot, SearchProgress, TargetCounts, Verified,
} from "../protocol";

const NOTES_KEPT = 200;

/** Stages at which a candidate fails before it is built. */
const NOT_BUILT: ReadonlySet<string> = new Set(["pattern", "predicate", "validity", "device", "import", "build"]);

/** Sources of costs that nobody knows: neither a trial nor a database gave them. */
const NOT_KNOWN: ReadonlySet<string> = new Set(["estimate", "bound", "unknown"]);

/** The fields of a run that is between two phases, or over. */
const AT_REST = { phase: null, step: null, doing: null, ends_s: null, search: null, considered: null, comparing: null, body: null } as const;

/** True if a run is over. */
export function hasEnded(run: Pick<RunSnapshot, "state">): boolean {
  return run.state !== "queued" && run.state !== "running";
}

/** The number of distinct computations whose cost is known, or which the target cannot take. */
export function knownOf(counts: TargetCounts): number {
  return counts.measured + counts.invalid + counts.cache_hits;
}

/** The snapshot after an event; an event that is not newer than the snapshot changes nothing. */
export function reduce(run: RunSnapshot, { seq, event, at_s }: Numbered): RunSnapshot {
  if (seq <= run.seq) return run;
  const now = { ...run, seq, now_s: at_s };
  const next = { ...now, ...changes(now, event) };
  return OF_THE_TOTAL.has(event.type) ? { ...next, convergence: convergence(next) } : next;
}

const OF_THE_TOTAL: ReadonlySet<string> = new Set(["PlanConsidered", "SearchProgress", "PlanImproved"]);
const POINTS_KEPT = 256;
const POINT_STEP_S = 0.1;

/** The history of the total. A point that follows closely replaces the one before; of too many points every second one is dropped. */
function convergence(run: RunSnapshot): ConvergencePoint[] {
  const point: ConvergencePoint = { seconds: run.now_s, best_s: run.best_s, bound_s: run.lower_bound_s, estimate_s: run.considered?.total_s ?? null };
  const [last, before] = [run.convergence.at(-1), run.convergence.at(-2)];
  if (last && last.best_s === point.best_s && last.bound_s === point.bound_s && last.estimate_s === point.estimate_s) return run.convergence;
  const points = [...(before && point.seconds - before.seconds < POINT_STEP_S ? run.convergence.slice(0, -1) : run.convergence), point];
  return points.length <= POINTS_KEPT ? points : points.filter((_, i) => i % 2 === 0 || i === points.length - 1);
}

function changes(run: RunSnapshot, event: RunEvent): Partial<RunSnapshot> {
  switch (event.type) {
    case "PhaseStarted":
      return { ...AT_REST, phase: event.phase, phases: timed(run, { phase: event.phase, started_s: run.now_s, seconds: null }) };
    case "StepStarted":
      return { step: event.step, doing: null, body: null, ends_s: endsS(run, event.left_s) };
    case "PhaseEnded":
      return phaseEnded(run, event.phase, event.seconds);
    case "CandidatesFound":
      return { counts: counted(run, event.target, () => ({ found: event.candidates, unique: event.unique, rejected: event.rejected })) };
    case "CandidateBuilding": {
      const { target, label, spans, repetition } = event;
      return { ...progress(run, event), doing: { target, label, spans, since_s: run.now_s, repetition }, search: null };
    }
    case "CandidateCosted":
      return { ...progress(run, event), counts: counted(run, event.target, (counts) => costed(run, event, counts)) };
    case "SearchingBody": {
      const { doing, name, number, count, done, total } = event;
      return { body: { doing, name, number, count, done, total } };
    }
    case "PlanConsidered":
      return {
        best_s: event.best_s ?? run.best_s,
        search: null,
        considered: { total_s: event.total_s, partitions: event.partitions.map(([target, spans, is_known]) => ({ target, spans, is_known })) },
      };
    case "SearchProgress":
      return searchProgress(run, event);
    case "PlanImproved":
      return { best_s: event.total_s, plan: { total_s: event.total_s, partitions: event.partitions.map(uncosted), transitions: [], total_interval_s: null } };
    case "Note":
      return { notes: [...run.notes, event.text].slice(-NOTES_KEPT) };
    case "RunStateChanged": {
      const { state, error, conflict, uncovered, artifact, waits_for } = event;
      return { state, error, conflict, uncovered, artifact, waits_for, ...(state === "running" ? {} : AT_REST) };
    }
    default:
      return measuredWhole(run, event);
  }
}

function measuredWhole(run: RunSnapshot, event: ComparingPlans | BaselineMeasured | PlanDecided | Verified): Partial<RunSnapshot> {
  switch (event.type) {
    case "ComparingPlans": {
      const { doing, name, done, total, left_s } = event;
      return { comparing: { doing, name, done, total }, ends_s: endsS(run, left_s) };
    }
    case "BaselineMeasured": {
      const { type, ...baseline } = event;
      void type;
      return { baselines: [...run.baselines.filter((known) => known.name !== event.name), baseline] };
    }
    case "PlanDecided":
      return { decided_by: event.decided_by, alternatives: event.alternatives, verify: run.verify && { ...run.verify, measured_s: event.measured_s } };
    case "Verified":
      return {
        verify: { measured_s: event.measured_s, additive_error_s: null, max_rel_error: event.max_rel_error, accuracy: event.accuracy, reference: null, errors: {}, interval_s: null, apart: run.baselines.some((one) => one.measured_s !== null), gap: "" },
      };
  }
}

function searchProgress(run: RunSnapshot, event: SearchProgress): Partial<RunSnapshot> {
  const { states, frontier, covered, nodes } = event;
  const placed = event.placed.map(([target, spans]) => ({ target, spans }));
  const [lower_bound_s, best_s] = [event.lower_bound_s ?? run.lower_bound_s, event.best_s ?? run.best_s];
  return { lower_bound_s, best_s, search: { states, frontier, covered, nodes, placed }, doing: null };
}

function timed(run: RunSnapshot, time: PhaseTime): PhaseTime[] {
  return [...run.phases.filter((known) => known.phase !== time.phase), time];
}

function phaseEnded(run: RunSnapshot, phase: string, seconds: number): Partial<RunSnapshot> {
  const began = run.phases.find((known) => known.phase === phase)?.started_s ?? null;
  const phases = timed(run, { phase, started_s: began, seconds });
  if (phase !== "costs") return { phases };
  return { phases, counts: run.counts.map((counts) => ({ ...counts, spared: Math.max(0, counts.unique - knownOf(counts)) })) };
}

function progress(run: RunSnapshot, { done, total, left_s }: CandidateBuilding | CandidateCosted): Partial<RunSnapshot> {
  return { done, total, ends_s: endsS(run, left_s), body: null };
}

function endsS(run: RunSnapshot, leftS: number | null): number | null {
  return leftS === null ? null : run.now_s + leftS;
}

function costed(run: RunSnapshot, { cost, from_cache, took_s }: CandidateCosted, counts: TargetCounts): Partial<TargetCounts> {
  const field = cost.source === "invalid" ? "invalid" : from_cache ? "cache_hits" : "measured";
  return {
    ...(!NOT_KNOWN.has(cost.source) && { [field]: counts[field] + 1 }),
    built: counts.built + (took_s !== null && !NOT_BUILT.has(cost.stage) ? 1 : 0),
    spared: Math.max(0, counts.spared - (run.phase === "search" ? 1 : 0)),
    trials: counts.trials + (took_s === null ? 0 : 1),
    trials_s: counts.trials_s + (took_s ?? 0),
  };
}

const NO_COUNTS: Omit<TargetCounts, "name"> = { found: 0, unique: 0, rejected: 0, measured: 0, invalid: 0, cache_hits: 0, built: 0, spared: 0, trials: 0, trials_s: 0 };

function counted(run: RunSnapshot, target: string, change: (counts: TargetCounts) => Partial<TargetCounts>): TargetCounts[] {
  const known = run.counts.some((counts) => counts.name === target);
  const all = known ? run.counts : [...run.counts, { name: target, ...NO_COUNTS }];
  return all.map((counts) => (counts.name === target ? { ...counts, ...change(counts) } : counts));
}

function uncosted([target, nodes]: [string, number[]]): PlanPartition {
  const id = `${target}:${nodes.join()}`;
  return { id, target, nodes, names: [], ops: [], cost_s: null, spread_s: null, interval_s: null, samples: 0, source: "", stability: null, decided_by: "cost", tuned: null };
}
