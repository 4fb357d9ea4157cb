import { ESLint } from "eslint";
import { describe, expect, test } from "vitest";
import { circleIn, importGraph } from "./import_graph";

const sources = import.meta.glob<string>(["../src/**/*.{ts,tsx}", "!../src/**/*.test.ts"], { query: "?raw", import: "default", eager: true });

test("every file but the entry lies in a layer", () => {
  expect([...new Set(Object.keys(sources).map((path) => path.split("/")[2]))].sort()).toEqual(["base", "data", "graph", "main.tsx", "state", "ui"]);
});

describe("no files import each other in a circle", () => {
  test("on the page", () => {
    const graph = importGraph(sources);
    expect(graph.size).toBeGreaterThan(100);
    expect([...graph.values()].flat().length).toBeGreaterThan(500);
    expect(circleIn(graph)).toBeUndefined();
  });

  test.each([
    ["by values", 'import { b } from "./b";', 'export { a } from "./a";'],
    ["by types alone", 'import type { B } from "./b";', 'import { type A } from "./a";'],
    ["by a part that is loaded later", 'void import("./b");', 'import type { A } from "./a";'],
    ["by a worker", 'new Worker(new URL("./b.ts", import.meta.url));', 'import { a } from "../src/a";'],
  ])("%s one is found", (_, a, b) => {
    expect(circleIn(importGraph({ "src/main.tsx": 'import "./a";', "src/a.ts": a, "src/b.ts": b }))).toEqual(["src/a.ts", "src/b.ts", "src/a.ts"]);
  });

  test("files that meet again below are no circle", () => {
    const texts = { "top.ts": 'import "./left";\nimport "./right";', "left.ts": 'import "./low";', "right.ts": 'import "./low";', "low.ts": 'import "preact";' };
    expect(circleIn(importGraph(texts))).toBeUndefined();
  });
});

describe("no file imports what is above its layer", () => {
  // These rules need no types, and reading those of the whole page would take longest.
  const overrideConfig = { languageOptions: { parserOptions: { projectService: false } } };
  const eslint = new ESLint({ overrideConfig, ruleFilter: ({ ruleId }) => ruleId.startsWith("no-restricted-") });
  const complaints = async (file: string, line: string): Promise<string[]> => {
    const [result] = await eslint.lintText(`${line}\n`, { filePath: `frontend/src/${file}` });
    return result?.messages.filter((one) => one.ruleId?.startsWith("no-restricted-")).map((one) => one.message) ?? [];
  };

  test.each([
    ["base/csv.ts", 'import type { NodeJson } from "../data/protocol";'],
    ["base/csv.ts", 'import { signal } from "@preact/signals";'],
    ["data/plan/why.ts", 'import type { Rows } from "../../graph/canvas/frame";'],
    ["data/plan/why.ts", 'export * from "../../state/run/run";'],
    ["data/plan/why.ts", 'import { row } from "../../../test/candidates";'],
    ["graph/layout/request.ts", 'void new Worker(new URL("../../ui/app.tsx", import.meta.url));'],
    ["graph/layout/request.ts", 'import { effect } from "@preact/signals";'],
    ["state/run/run.ts", 'void import("../../ui/menu/menu");'],
    ["state/run/run.ts", 'import type { JSX } from "preact";'],
    ["ui/app.tsx", 'import "../main";'],
  ])("%s: %s", async (file, line) => {
    const found = await complaints(file, line);
    expect(found).not.toEqual([]);
    expect(found[0]).toContain(`'${file.split("/")[0] ?? ""}' may import `);
  });

  test.each([
    ["data/plan/why.ts", 'import { duration } from "../../base/format";'],
    ["graph/layout/request.ts", 'void new Worker(new URL("./layout.worker.ts", import.meta.url));'],
    ["state/run/run.ts", 'import { theme } from "../graph/painting";'],
    ["ui/graph/legend.tsx", 'import { readTheme } from "../../graph/canvas/theme";'],
    ["data/plan/why.test.ts", 'import { row } from "../../../test/candidates";'],
  ])("%s may say %s", async (file, line) => {
    expect(await complaints(file, line)).toEqual([]);
  });
});
