// Unpacks the table of candidates, which travels as columns with each label, rule and cost once. Pure.

import type { CostedRow, PackedCandidates, RunCandidates } from "../protocol";

/** The rows of a packed table. Rows of equal cost share its object. */
export function unpacked({ run, targets, labels, rules, costs, columns, rejections }: PackedCandidates): RunCandidates {
  const [chosen, inNoPlan] = [new Set(columns.chosen), new Set(columns.in_no_plan)];
  const at = <T>(list: readonly T[], index: number | undefined): T => {
    const value = list[index ?? -1];
    if (value === undefined) throw new Error(`the table of candidates has no entry ${index}`);
    return value;
  };
  const candidates = columns.id.map(
    (id, row): CostedRow => ({
      id,
      target: at(targets, columns.target[row]),
      label: at(labels, columns.label[row]),
      rule: at(rules, columns.rule[row]),
      spans: columns.spans[row] ?? [],
      times: columns.times[row] ?? 1,
      cost: at(costs, columns.cost[row]),
      chosen: chosen.has(row),
      regret_s: columns.regret_s[row] ?? null,
      in_no_plan: inNoPlan.has(row),
    }),
  );
  return { run, candidates, rejections };
}
