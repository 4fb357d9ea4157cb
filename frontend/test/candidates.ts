// Tables of candidates for the page's tests.

import type { Cost, CostedRow, NodeJson, RejectedRow, RunCandidates } from "../src/data/protocol";

export function cost(changes: Partial<Cost> = {}): Cost {
  return { seconds: 1e-3, source: "measured", spread_s: 2e-5, samples: 20, stage: "", reason: "", stopped_early: false, error: null, interval_s: 2e-5, tuned: null, alone_s: null, ...changes };
}

export function invalid(stage: string, reason: string): Cost {
  return cost({ seconds: null, source: "invalid", spread_s: null, interval_s: null, samples: 0, stage, reason });
}

export function row(id: string, target: string, spans: number[], changes: Partial<CostedRow> = {}): CostedRow {
  return { id, target, label: id, rule: `${target}.rule`, spans, times: 1, cost: cost(), chosen: false, regret_s: null, in_no_plan: false, ...changes };
}

export function tableOf(candidates: CostedRow[], rejections: RejectedRow[] = []): RunCandidates {
  return { run: "r1", candidates, rejections };
}

/** Nodes with these operators, named after them and their place. */
export function nodesOf(...ops: string[]): NodeJson[] {
  return ops.map((op, id) => ({ id, name: `${op.toLowerCase()}${id}`, op, kind: "A", inputs: [], outputs: [], attributes: {}, absorbed: [], host: false }));
}
