import { expect, test } from "vitest";
import type { RejectedRow, RuleTree } from "../protocol";
import { isThrough, keyOn, treeLines, optionText, rejectedBy, rejectionsOf } from "./rule_tree";

function rule(name: string, of: RuleTree[] = [], more: Partial<RuleTree> = {}): RuleTree {
  return { path: name, rule: name, options: {}, candidates: 0, deferred: 0, is_shared: false, rejected: [], notes: [], of, ...more };
}

const TREE = rule("primitive", [rule("union", [rule("only_valid", [rule("op_predicate")]), rule("segments", [rule("op_predicate")])])]);

test("each line of a tree knows its level and parent; folded lines are left out", () => {
  const all = treeLines(TREE, new Set());
  expect(all.map((line) => [line.rule.rule, line.level, line.position, line.siblings, line.parent])).toEqual([
    ["primitive", 1, 1, 1, -1],
    ["union", 2, 1, 1, 0],
    ["only_valid", 3, 1, 2, 1],
    ["op_predicate", 4, 1, 1, 2],
    ["segments", 3, 2, 2, 1],
    ["op_predicate", 4, 1, 1, 4],
  ]);
  expect(new Set(all.map((line) => line.key)).size).toBe(6);
  const folded = treeLines(TREE, new Set(["0.0.0"]));
  expect(folded.map((line) => line.rule.rule)).toEqual(["primitive", "union", "only_valid", "segments", "op_predicate"]);
  expect(folded[2]?.isOpen).toBe(false);
});

test("keys walk and fold as in any tree", () => {
  const lines = treeLines(TREE, new Set(["0.0.1"]));
  expect(keyOn(lines, 0, "ArrowDown")).toEqual({ go: 1 });
  expect(keyOn(lines, 4, "ArrowDown")).toEqual({ go: 4 });
  expect(keyOn(lines, 0, "ArrowUp")).toEqual({ go: 0 });
  expect(keyOn(lines, 0, "End")).toEqual({ go: 4 });
  expect(keyOn(lines, 3, "Home")).toEqual({ go: 0 });
  expect(keyOn(lines, 1, "ArrowRight")).toEqual({ go: 2 });
  expect(keyOn(lines, 4, "ArrowRight")).toEqual({ fold: false });
  expect(keyOn(lines, 3, "ArrowRight")).toBeNull();
  expect(keyOn(lines, 2, "ArrowLeft")).toEqual({ fold: true });
  expect(keyOn(lines, 4, "ArrowLeft")).toEqual({ go: 1 });
  expect(keyOn(treeLines(TREE, new Set(["0"])), 0, "ArrowLeft")).toBeNull();
  expect(keyOn(lines, 0, "x")).toBeNull();
});

test("a candidate is of every rule that its path leads through", () => {
  const candidate = { target: "tvm", rule: "tvm.primitive.union.only_valid.combine" };
  expect(isThrough(candidate, "primitive")).toBe(true);
  expect(isThrough(candidate, "primitive.union.only_valid.combine")).toBe(true);
  expect(isThrough(candidate, "primitive.union.only")).toBe(false);
  expect(isThrough({ target: "tvm", rule: "tvm.merged" }, "primitive")).toBe(false);
});

test("rejections are those of the rule; of two patterns each has its own", () => {
  const row = (target: string, name: string, reason: string, pattern = "", spans = [0, 1]): RejectedRow => ({ target, rule: name, stage: "predicate", reason, pattern, spans });
  const rows = [
    row("a", "only_valid.combine", "exits: too many"),
    row("b", "only_valid", "exits: too many"),
    row("a", "df_pattern", "pattern one: wrong dtype", "one"),
    row("a", "df_pattern", "pattern Relu(*): wrong dtype", "Relu(*)"),
    row("a", "df_pattern", "pattern one matches nothing", "one", []),
  ];
  expect(rejectionsOf(rows, "a", rule("only_valid"))).toEqual([rows[0]]);
  expect(rejectionsOf(rows, "a", rule("df_pattern", [], { options: { label: "one", match: "Relu(*)" } }))).toEqual([rows[2]]);
  expect(rejectionsOf(rows, "a", rule("df_pattern", [], { options: { match: "Relu(*)" } }))).toEqual([rows[3]]);
  const counted = { rejected: [{ stage: "validity", check: "exits", count: 3 }, { stage: "validity", check: "taps", count: 4 }] };
  expect(rejectedBy(rule("only_valid", [], counted))).toBe(7);
});

test("options are written in few words, long lists as their length", () => {
  expect(optionText("max_depth", "3")).toEqual({ text: "max_depth 3" });
  expect(optionText("combiners", '["kind:A-A"]')).toEqual({ text: "combiners kind:A-A" });
  const ops = Array.from({ length: 20 }, (_, i) => `Op${i}`);
  expect(optionText("ops", JSON.stringify(ops))).toMatchObject({ text: "20 ops" });
  expect(optionText("match", "R".repeat(80)).text).toMatch(/^match R{47}…$/);
});
