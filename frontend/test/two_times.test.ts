// The page compares no two plans: it prints what the server says of them. This looks for a place in its sources that does.

import ts from "typescript";
import { expect, test } from "vitest";

const sources = import.meta.glob<string>(["../src/**/*.{ts,tsx}", "!../src/**/*.test.ts"], { query: "?raw", import: "default", eager: true });
/** Names of the time of a whole plan. */
const TIME = /\b(total_?s|measured_?s|predicted_?s|sum_?s|plan_?s|against_?s|own_?s|beside_?s|best_s|change_s)\b/i;
const OPERATORS = new Set(["-", "+", "/", "*", "<", "<=", ">", ">="]);
/** File → why it may. */
const ALLOWED: Readonly<Record<string, string>> = { "../src/data/charts/figures.ts": "a chart of the predicted and the measured time of each plan, and the order of its bars" };

function comparisons(text: string): string[] {
  const found: string[] = [];
  const walk = (node: ts.Node): void => {
    if (ts.isBinaryExpression(node) && OPERATORS.has(node.operatorToken.getText()) && TIME.test(node.left.getText()) && TIME.test(node.right.getText())) found.push(node.getText());
    node.forEachChild(walk);
  };
  walk(ts.createSourceFile("file.tsx", text, ts.ScriptTarget.Latest, true, ts.ScriptKind.TSX));
  return found;
}

test("no file of the page computes with the times of two plans", () => {
  expect(comparisons("const d = one.total_s - (other?.total_s ?? 0); const isLess = a.measured_s < planS;")).toHaveLength(2);
  expect(comparisons("const share = part.cost_s / plan.total_s; const end = last.seconds + 1;")).toEqual([]);
  const files = Object.entries(sources).filter(([path]) => !(path in ALLOWED));
  expect(files.length).toBeGreaterThan(200);
  expect(files.flatMap(([path, text]) => comparisons(text).map((one) => `${path}: ${one}`))).toEqual([]);
});
