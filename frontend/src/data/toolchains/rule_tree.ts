// A rule tree as the lines that are seen: what is folded away is left out. And which line a key goes to. Pure.

import type { RejectedRow, RuleTree } from "../protocol";

export interface TreeLine {
  rule: RuleTree;
  /** From 1. */
  level: number;
  /** Its place among its siblings, from 1, and how many there are. */
  position: number;
  siblings: number;
  /** The line above that holds it; -1 for the root. */
  parent: number;
  /** Where it stands in the tree, whatever its path: `0.1.0`. */
  key: string;
  isOpen: boolean;
}

/** The lines of a tree, from top to bottom; `closed` holds the keys of those whose rules are folded away. */
export function treeLines(tree: RuleTree, closed: ReadonlySet<string>): TreeLine[] {
  const lines: TreeLine[] = [];
  const add = (rule: RuleTree, key: string, where: Pick<TreeLine, "level" | "position" | "siblings" | "parent">): void => {
    const isOpen = !closed.has(key);
    const at = lines.push({ rule, key, isOpen, ...where }) - 1;
    if (!isOpen) return;
    rule.of.forEach((sub, i) => add(sub, `${key}.${i}`, { level: where.level + 1, position: i + 1, siblings: rule.of.length, parent: at }));
  };
  add(tree, "0", { level: 1, position: 1, siblings: 1, parent: -1 });
  return lines;
}

/** What a key does on a line: go to another one, or fold this one; null where it means nothing here. */
export function keyOn(lines: readonly TreeLine[], at: number, key: string): { go: number } | { fold: boolean } | null {
  const line = lines[at];
  if (!line) return null;
  const hasMore = line.rule.of.length > 0;
  switch (key) {
    case "ArrowDown":
      return { go: Math.min(at + 1, lines.length - 1) };
    case "ArrowUp":
      return { go: Math.max(at - 1, 0) };
    case "Home":
      return { go: 0 };
    case "End":
      return { go: lines.length - 1 };
    case "ArrowRight":
      return !hasMore ? null : line.isOpen ? { go: at + 1 } : { fold: false };
    case "ArrowLeft":
      return hasMore && line.isOpen ? { fold: true } : line.parent < 0 ? null : { go: line.parent };
    default:
      return null;
  }
}

/** How many sub-graphs a rule turned down. */
export function rejectedBy(rule: RuleTree): number {
  return rule.rejected.reduce((all, one) => all + one.count, 0);
}

/** Those of the kept rejections that a rule of `target` made; of several patterns, the ones that its own is named in. */
export function rejectionsOf(rows: readonly RejectedRow[], target: string, rule: RuleTree): RejectedRow[] {
  const pattern = rule.options["label"] ?? rule.options["match"];
  return rows.filter(
    (row) =>
      row.target === target &&
      row.spans.length > 0 &&
      row.rule.split(".")[0] === rule.rule &&
      (pattern === undefined || row.reason.startsWith(`pattern ${pattern}:`)),
  );
}

/** Whether a candidate's path of rules leads through the rule at `path`. */
export function isThrough(candidate: { target: string; rule: string }, path: string): boolean {
  const own = candidate.rule.slice(candidate.target.length + 1);
  return own === path || own.startsWith(`${path}.`);
}

const LONG = 48;

/** An option in few words; what is left out is said by `title`. */
export function optionText(word: string, value: string): { text: string; title?: string } {
  if (value.length <= LONG) return { text: `${word} ${bareText(value)}` };
  const items = /^\[.*\]$/.test(value) ? (JSON.parse(value) as unknown[]) : null;
  return { text: items ? `${items.length} ${word}` : `${word} ${value.slice(0, LONG - 1)}…`, title: bareText(value) };
}

function bareText(value: string): string {
  return value.replace(/^\[(.*)\]$/, "$1").replaceAll('"', "");
}
