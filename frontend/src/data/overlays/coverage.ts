// Coverage: which nodes a target could take, and why it cannot take the others, from the table of all candidates. Pure.

import type { RunCandidates } from "../protocol";
import { eachSpan, sizeOf } from "../spans";

export type NodeCoverage = { kind: "takes" } | { kind: "cannot"; stage: string; reason: string };

const TAKES: NodeCoverage = { kind: "takes" };
const NOT_FOUND: NodeCoverage = { kind: "cannot", stage: "pattern", reason: "no rule made a candidate that holds it" };

interface Rejection {
  target: string;
  spans: readonly number[];
  stage: string;
  reason: string;
}

/** For each node whether a usable candidate of `target` holds it; else the reason of the smallest rejection that holds it. */
export function coverageOf(target: string, table: RunCandidates, nodes: number): NodeCoverage[] {
  const found: NodeCoverage[] = new Array<NodeCoverage>(nodes).fill(NOT_FOUND);
  for (const refusal of rejectionsOf(target, table)) {
    const why: NodeCoverage = { kind: "cannot", stage: refusal.stage, reason: refusal.reason };
    fill(found, refusal.spans, why);
  }
  for (const row of table.candidates) if (row.target === target && row.cost.source !== "invalid") fill(found, row.spans, TAKES);
  return found;
}

/** The rejections and invalid candidates of a target, largest first, so that smaller ones are filled in over them. */
function rejectionsOf(target: string, table: RunCandidates): Rejection[] {
  const invalid = table.candidates
    .filter((row) => row.target === target && row.cost.source === "invalid")
    .map(({ spans, cost }) => ({ target, spans, stage: cost.stage, reason: cost.reason }));
  const all = [...table.rejections.filter((one) => one.target === target), ...invalid];
  return all.map((one) => ({ one, size: sizeOf(one.spans) })).sort((a, b) => b.size - a.size).map(({ one }) => one);
}

function fill(found: NodeCoverage[], spans: readonly number[], value: NodeCoverage): void {
  eachSpan(spans, (first, last) => found.fill(value, first, last + 1));
}
