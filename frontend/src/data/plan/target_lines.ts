// What becomes of each target under other terms, in words. Pure.

import { duration, plural } from "../../base/format";
import type { TargetUnderTerms } from "../protocol";

/** The targets that come in, stay or leave, with what each brings, and what nobody has timed. */
export function targetLines(targets: readonly TargetUnderTerms[]): { target: string; words: string }[] {
  return targets.flatMap((row) => {
    const lines = [changeOf(row), row.untimed > 0 ? `${row.target}: ${plural(row.untimed, "candidate is", "candidates are")} accurate enough now and not timed` : ""];
    return lines.filter(Boolean).map((words) => ({ target: row.target, words }));
  });
}

function changeOf({ target, nodes, nodes_before: before, brings_s: brings }: TargetUnderTerms): string {
  if (nodes === 0) return before > 0 ? `${target} is out: it had ${plural(before, "node")}` : "";
  const count = before === 0 ? `${target} comes in with ${plural(nodes, "node")}` : `${target} has ${plural(nodes, "node")}${nodes === before ? " as before" : `, ${before} before`}`;
  return brings === null ? count : `${count}, and brings ${duration(Math.max(0, brings))}`;
}
