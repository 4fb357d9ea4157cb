// Numbers before nouns in the page's texts agree: "1 node", never "1 nodes". The texts are read from the sources, by their syntax.

import ts from "typescript";
import { expect, test } from "vitest";

const sources = import.meta.glob<string>(["../src/**/*.{ts,tsx}", "!../src/**/*.test.ts"], { query: "?raw", import: "default", eager: true });

/** File and noun → why the number is never one there. */
const NEVER_ONE: Readonly<Record<string, string>> = {
  "boxes/fold.ts: tensors": "an edge of one tensor has its name",
  "boxes/build.ts: tensors": "an edge of one tensor has its name",
  "charts/estimated.ts: measurements": "one has a sentence of its own",
  "charts/figures.ts: runs": "one has a sentence of its own",
  "drawer/compared_rows.ts: nodes": "one is not counted",
  "panel/why.ts: nodes": "up to three are named",
  "plan/constraints.ts: nodes": "up to three are named",
  "search/replay.ts: steps": "the choices are 2 and more",
  "welcome/region_choice.ts: regions": "one is opened unasked",
};

/** Verbs and other words that may follow a number and end in an s. */
const NO_NOUN = new Set(["is", "has", "was", "as", "less", "this", "its", "across", "plus"]);

/** Plurals that follow a number as they stand: "charts/figures.ts: runs". Numbers are told by `count()`, `.length` or `.size`. */
function countedWithoutAgreeing(path: string, text: string): string[] {
  const source = ts.createSourceFile(path, text, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const look = (value: string, after: string): void => {
    const noun = /^ ([a-z]+s)\b/.exec(after)?.[1];
    const isNumber = /^count\(|\.(length|size)$|^(count|size|number)$/.test(value);
    if (noun !== undefined && isNumber && !NO_NOUN.has(noun)) found.push(`${path.split("/").slice(-2).join("/").replace(/x$/, "")}: ${noun}`);
  };
  const visit = (node: ts.Node): void => {
    if (ts.isTemplateSpan(node)) look(node.expression.getText(source), node.literal.text);
    if (ts.isJsxExpression(node) && node.expression && (ts.isJsxElement(node.parent) || ts.isJsxFragment(node.parent))) {
      const next = node.parent.children[node.parent.children.indexOf(node) + 1];
      if (next && ts.isJsxText(next)) look(node.expression.getText(source), next.text);
    }
    ts.forEachChild(node, visit);
  };
  visit(source);
  return found;
}

test("numbers agree with their nouns", () => {
  const found = Object.entries(sources).flatMap(([path, text]) => (/\} [a-z]+s\b/.test(text) ? countedWithoutAgreeing(path, text) : []));
  expect([...new Set(found)].sort()).toEqual(Object.keys(NEVER_ONE).sort());
});

test("a number that does not agree is found in templates and in elements", () => {
  const faults = "const a = `${count(rows.length)} rows`; const b = <p>{rows.length} steps so far</p>; const c = `${many.size} nodes, ${count(n)} is it`;";
  expect(countedWithoutAgreeing("src/ui/a.tsx", faults)).toEqual(["ui/a.ts: rows", "ui/a.ts: steps", "ui/a.ts: nodes"]);
  expect(countedWithoutAgreeing("src/ui/a.tsx", 'const a = `${plural(n, "row")} is ${name} rows`; const b = <p title={rows.length}> rows</p>;')).toEqual([]);
});
