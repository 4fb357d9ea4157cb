// A rule tree as lines, without those that are folded away; and what a key does on a line. Pure.

import type { RejectedRow, RuleTree } from "../protocol";

export interface TreeLine {
  rule: RuleTree;
  /** From 1. */
  level: number;
  /** Its position among its siblings, from 1, and their number. */
  position: number;
  siblings: number;
  /** The index of its parent line; -1 for the root. */
  parent: number;
  /** The indices that lead to it from the root: `0.1.0`. Unlike its path, this is unique. */
  key: string;
  isOpen: boolean;
}

/** The lines of a tree from top to bottom; `closed` holds the keys of lines whose children are folded away. */
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

/** The action of a key on a line: go to another line, or fold or unfold this one; null where it has none. */
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

/** The number of sub-graphs that a rule rejected. */
export function rejectedBy(rule: RuleTree): number {
  return rule.rejected.reduce((all, one) => all + one.count, 0);
}

/** The kept rejections of a rule of `target`. Of several pattern rules, each has those of its own pattern. */
export function rejectionsOf(rows: readonly RejectedRow[], target: string, rule: RuleTree): RejectedRow[] {
  const pattern = rule.options["label"] ?? rule.options["match"];
  return rows.filter(
    (row) =>
      row.target === target &&
      row.spans.length > 0 &&
      row.rule.split(".")[0] === rule.rule &&
      (pattern === undefined || row.pattern === pattern),
  );
}

/** True if a candidate came through the rule at `path`. */
export function isThrough(candidate: { target: string; rule: string }, path: string): boolean {
  const own = candidate.rule.slice(candidate.target.length + 1);
  return own === path || own.startsWith(`${path}.`);
}

const LONG = 48;

/** An option in few words; `title` has all of a long one. */
export function optionText(word: string, value: string): { text: string; title?: string } {
  if (value.length <= LONG) return { text: `${word} ${bareText(value)}` };
  const items = /^\[.*\]$/.test(value) ? (JSON.parse(value) as unknown[]) : null;
  return { text: items ? `${items.length} ${word}` : `${word} ${value.slice(0, LONG - 1)}…`, title: bareText(value) };
}

function bareText(value: string): string {
  return value.replace(/^\[(.*)\]$/, "$1").replaceAll('"', "");
}
