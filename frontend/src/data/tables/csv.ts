// The page's tables as CSV: candidates, partitions, totals, runs, and two compared plans. Costs are in seconds. Pure.

import { csv, type Cell } from "../../base/csv";
import type { Difference } from "../overlays/difference";
import { baselineName } from "../plan/baselines";
import { isRight, largestError } from "../plan/verification";
import type { CostedRow, NodeJson, PlanInfo, PlanPartition, RunSnapshot, RunSummary, RunTotals, TotalRow } from "../protocol";
import { optionsInText } from "../run/options_form";
import { nodesIn } from "../spans";

type Names = readonly Pick<NodeJson, "name" | "op">[];

const COSTS_HEADER = [
  "target", "operators", "nodes", "count", "times", "cost_s", "interval_s", "spread_s", "samples", "source", "regret_s", "in_no_plan", "chosen", "stage", "reason", "rule", "id",
] as const;

/** A line for each candidate, in the order given. */
export function costsCsv(rows: readonly CostedRow[], nodes: Names): string {
  const lines = rows.map((row): Cell[] => {
    const inside = nodesIn(row.spans);
    const { seconds, interval_s, spread_s, samples, source, stage, reason } = row.cost;
    return [row.target, opsOf(inside, nodes), namesOf(inside, nodes), inside.length, row.times, seconds, interval_s, spread_s, samples, source, row.regret_s, row.in_no_plan, row.chosen, stage, reason, row.rule, row.id];
  });
  return csv(COSTS_HEADER, lines);
}

/** A line for each partition, in the order given; then one for each transition. */
export function partitionsCsv(partitions: readonly PlanPartition[], plan: PlanInfo, nodes: Names): string {
  const header = ["target", "operators", "nodes", "count", "cost_s", "interval_s", "spread_s", "share_of_predicted", "samples", "source", "stability", "id"];
  const share = (costS: number | null): number | null => (costS === null || plan.total_s <= 0 ? null : costS / plan.total_s);
  const lines = partitions.map((one): Cell[] => [
    one.target, opsOf(one.nodes, nodes), namesOf(one.nodes, nodes), one.nodes.length, one.cost_s, one.interval_s, one.spread_s, share(one.cost_s), one.samples, one.source, one.stability, one.id,
  ]);
  const transitions = plan.transitions.map((one): Cell[] => [`${one.from} to ${one.to}`, "transition", one.tensor, null, one.cost_s, null, null, share(one.cost_s), null, null, null, null]);
  return csv(header, [...lines, ...transitions]);
}

/** A line for the plan, then one for each baseline and each other plan that was timed end to end. */
export function totalsCsv({ rows }: RunTotals, verify: RunSnapshot["verify"]): string {
  const nameOf = ({ name, kind }: TotalRow): string => (kind === "baseline" ? baselineName(name) : name);
  const lines = rows.map((row): Cell[] => {
    const { predicted_s, predicted_interval_s, measured_s, interval_s } = row.time;
    return [nameOf(row), predicted_s, predicted_interval_s, measured_s, interval_s, row.rounds || null, row.kind === "plan" ? largestError(verify) : null, row.reason];
  });
  return csv(["plan", "predicted_s", "predicted_interval_s", "measured_s", "measured_interval_s", "rounds", "max_rel_error", "reason"], lines);
}

/** A line for each run, in the order given. */
export function runsCsv(runs: readonly RunSummary[]): string {
  const targets = [...new Set(runs.flatMap((run) => Object.keys(run.by_target)))].sort();
  const header = [
    "id", "name", "starred", "note", "model", "created", "machine", "state", "targets", "constraints", "base", "options", "predicted_s",
    ...targets.map((target) => `${target}_s`), "transitions_s", "optimal", "measured_s", "max_rel_error", "right",
  ];
  const lines = runs.map((run): Cell[] => [
    run.id, run.name, run.is_starred, run.note, run.model_name, run.created, run.machine, run.state, run.targets.join(";"), run.constraints, run.base, optionsInText(run.options).join("; "), run.total_s,
    ...targets.map((target) => run.by_target[target] ?? null), run.moves_s, run.optimal, run.measured_s, largestError(run.verify), isRight(run.verify),
  ]);
  return csv(header, lines);
}

/** A line for each region of the two plans, the largest difference first; then one for the transitions. */
export function comparedCsv(found: Difference, nodes: Names): string {
  const targets = (all: readonly PlanPartition[]): string => [...new Set(all.map((one) => one.target))].join(";");
  const lines = found.regions.map((region): Cell[] => [
    region.kind, opsOf(region.nodes, nodes), namesOf(region.nodes, nodes), region.nodes.length,
    targets(region.plan), region.plan.length, region.cost.first_s, targets(region.against), region.against.length, region.cost.second_s, region.cost.change_s,
  ]);
  const transitions: Cell[] = ["transition", null, null, null, null, null, found.transitions.first_s, null, null, found.transitions.second_s, found.transitions.change_s];
  const header = ["kind", "operators", "nodes", "count", "plan_targets", "plan_partitions", "plan_s", "against_targets", "against_partitions", "against_s", "difference_s"];
  return csv(header, [...lines, transitions]);
}

function opsOf(inside: readonly number[], nodes: Names): string {
  return inside.map((node) => nodes[node]?.op ?? "").join("+");
}

function namesOf(inside: readonly number[], nodes: Names): string {
  return inside.map((node) => nodes[node]?.name ?? String(node)).join(";");
}
