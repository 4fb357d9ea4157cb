// Runs for the page's tests.

import { NO_TIME } from "../src/data/plan/shown_plan";
import type { PlanPartition, PlanTime, RunSnapshot, RunSummary, TwoPlans, TwoRegions, TwoTimes } from "../src/data/protocol";

export function partition(target: string, nodes: number[], costS = 1e-3): PlanPartition {
  const id = `${target}-${nodes.join("-")}`;
  return { id, target, nodes, names: nodes.map((n) => `n${n}`), ops: [], cost_s: costS, spread_s: costS / 50, interval_s: costS / 50, samples: 12, source: "measured", stability: 1, decided_by: "cost", tuned: null, label: "" };
}

export function planTime(changes: Partial<PlanTime> = {}): PlanTime {
  return { ...NO_TIME, ...changes };
}

const times = (firstS: number | null, secondS: number | null): TwoTimes => {
  const changeS = firstS === null || secondS === null ? null : Number((firstS - secondS).toFixed(9));
  return { first_s: firstS, second_s: secondS, change_s: changeS, change: changeS === null ? "not known" : `${changeS} s` };
};

/** A region of two plans as the server answers: the partitions by their ids, and their costs. */
export function twoRegions(kind: TwoRegions["kind"], nodes: number[], first: string[], second: string[], costs: [number | null, number | null] = [1e-3, 1e-3]): TwoRegions {
  return { kind, nodes, first, second, cost: times(...costs), is_change: kind !== "same" || costs[0] !== costs[1] };
}

/** How two plans compare, as the server answers. */
export function twoPlans(regions: TwoRegions[], moved: number[] = []): TwoPlans {
  return { text: "+1 ms predicted", is_faster: false, predicted: times(2e-3, 1e-3), measured: null, transitions: times(0, 0), regions, moved };
}

export function runSnapshot(changes: Partial<RunSnapshot> = {}): RunSnapshot {
  return {
    id: "r1",
    state: "running",
    seq: 0,
    model: "m1",
    model_name: "chain",
    targets: ["tvm", "onnxruntime"],
    constraints: [],
    groups: [],
    costs: {},
    created: "2026-01-01T00:00:00Z",
    base: null,
    machine: "a laptop",
    phase: null,
    step: null,
    done: 0,
    total: 0,
    counts: [],
    lower_bound_s: null,
    best_s: null,
    optimal: null,
    plan: { total_s: 2e-3, partitions: [partition("tvm", [0]), partition("onnxruntime", [1, 2])], transitions: [], total_interval_s: null },
    baselines: [],
    time: null,
    leaders: [],
    new_costs: [],
    verdict: null,
    decided_by: null,
    alternatives: [],
    verify: null,
    notes: [],
    error: null,
    conflict: [],
    uncovered: [],
    artifact: false,
    recorded: false,
    remeasured: null,
    now_s: 0,
    phases: [],
    doing: null,
    ends_s: null,
    search: null,
    considered: null,
    convergence: [],
    accuracy: null,
    options: {},
    described: [],
    has_own_costs: false,
    budget: null,
    cancelled: null,
    comparing: null,
    body: null,
    waits_for: "",
    ...changes,
  };
}

export function runSummary(id: string, changes: Partial<RunSummary> = {}): RunSummary {
  return {
    id,
    state: "done",
    model: "m1",
    model_name: "chain",
    targets: ["tvm", "onnxruntime"],
    constraints: 0,
    created: "2026-01-01T00:00:00Z",
    base: null,
    machine: "a laptop",
    total_s: 2e-3,
    artifact: false,
    by_target: { tvm: 1e-3, onnxruntime: 0.9e-3 },
    moves_s: 0.1e-3,
    optimal: true,
    verify: null,
    recorded: false,
    remeasured: null,
    options: {},
    name: "",
    note: "",
    is_starred: false,
    measured_s: null,
    result: null,
    ...changes,
  };
}
