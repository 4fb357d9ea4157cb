import { expect, test } from "vitest";
import { cost, invalid, row } from "../../../test/candidates";
import { planTime, runSnapshot, runSummary } from "../../../test/runs";
import type { VerifyInfo } from "../protocol";
import { plainText, type Figure, type NoFigure } from "./figure";
import { convergence, predicted, spreads, totals } from "./figures";

const paint = (name: string): string => `colour of ${name}`;
const measured = (seconds: number): VerifyInfo => ({ measured_s: seconds, additive_error_s: null, max_rel_error: 1e-7, accuracy: 1e-3, reference: "onnxruntime", errors: {}, interval_s: null, explained_s: null, apart: false, gap: "" });

function drawn(found: Figure | NoFigure): Figure {
  if ("why" in found) throw new Error(found.why);
  return found;
}

test("convergence holds each figure until the next one, and the last one to the end", () => {
  const figure = drawn(
    convergence(
      [
        { seconds: 1, best_s: null, bound_s: 1e-3, estimate_s: null },
        { seconds: 2, best_s: 4e-3, bound_s: 1e-3, estimate_s: null },
        { seconds: 4, best_s: 2e-3, bound_s: 2e-3, estimate_s: null },
      ],
      paint,
    ),
  );
  expect(figure.traces.map(({ name, x, y }) => [name, x, y])).toEqual([
    ["best total, predicted", [2, 4, 4.16], [4, 2, 2]],
    ["bound", [1, 2, 4, 4.16], [1, 1, 2, 2]],
  ]);
  expect(figure.summary).toBe("The best predicted total goes from 4.00 ms to 2.00 ms in 4.00 s; no plan is below 2.00 ms.");
  expect(figure.rows).toEqual([[1, null, 1e-3, null], [2, 4e-3, 1e-3, null], [4, 2e-3, 2e-3, null]]);
});

test("a run of which no history was kept says so", () => {
  expect(convergence([], paint)).toHaveProperty("why");
  expect(convergence([{ seconds: 0, best_s: null, bound_s: null, estimate_s: null }], paint)).toHaveProperty("why");
});

test("each measurement is one point, however many candidates share it; a cost that was not measured is no point", () => {
  const rows = [
    row("a", "tvm", [0, 0], { cost: cost({ seconds: 2e-3, spread_s: 1e-3, samples: 9 }), chosen: true }),
    row("b", "tvm", [1, 1], { cost: cost({ seconds: 2e-3, spread_s: 1e-3, samples: 9 }) }),
    row("c", "openvino", [1, 1], { cost: cost({ seconds: 1e-3, spread_s: 1e-5, samples: 30 }) }),
    row("d", "openvino", [1, 1], { cost: cost({ seconds: 1e-3, source: "estimate", spread_s: null, samples: 0 }) }),
    row("e", "openvino", [2, 2], { cost: invalid("import", "no") }),
  ];
  const figure = drawn(spreads(rows, (one) => `<b>${one.id}</b>`, paint));
  expect(figure.traces.map(({ name, x, y, customdata }) => [name, x, y, customdata])).toEqual([
    ["openvino", [30], [1], ["c"]],
    ["tvm", [9], [2], ["a"]],
  ]);
  expect(figure.traces[1]?.["text"]).toEqual(["&lt;b&gt;a&lt;/b&gt; ×2, in the plan"]);
  expect(figure.summary).toBe("2 measurements with 9 to 30 samples each; the spread of 1 of them is more than 10 % of the cost.");
  expect(spreads(rows.slice(3), String, paint)).toHaveProperty("why");
});

test("totals stack every target of every run, and mark the runs whose plan was measured beside others", () => {
  const runs = [
    runSummary("r1", { total_s: 2e-3, measured_s: 2.5e-3 }),
    runSummary("r2", { total_s: 1e-3, verify: { ...measured(7e-3), apart: true }, by_target: { openvino: 1e-3, host: 0 }, moves_s: 0 }),
    runSummary("r3", { by_target: {} }),
  ];
  const figure = drawn(totals(runs, () => "same name", paint));
  expect(figure.traces.map(({ name, x }) => [name, x])).toEqual([
    ["onnxruntime", [0.9, 0]],
    ["openvino", [0, 1]],
    ["tvm", [1, 0]],
    ["transitions", [0.1, 0]],
    ["measured", [2.5]],
  ]);
  expect(figure.traces[0]?.["y"]).toEqual(["same name", "same name (2)"]);
  expect(figure.rows.map((cells) => cells.length)).toEqual([figure.header.length, figure.header.length]);
  expect(totals(runs.slice(2), String, paint)).toHaveProperty("why");
});

test("predicted against measured has only measured runs, and names the one that is furthest off", () => {
  const baselines = [
    { name: "tvm", total_s: 4e-3, measured_s: 2e-3, reason: "" },
    { name: "greedy", total_s: 4e-3, measured_s: null, reason: "" },
  ];
  const run = runSnapshot({ time: planTime({ measured_s: 2.2e-3 }), baselines });
  const figure = drawn(predicted(run, [runSummary("r1", { verify: { ...measured(7e-3), apart: true } }), runSummary("r2", { measured_s: 2e-3 })], (one) => one.id, paint));
  expect(figure.rows.map((cells) => cells[0])).toEqual(["this plan", "tvm alone", "r2"]);
  expect(figure.summary).toContain("The largest error is 100 %, of tvm alone.");
  expect(predicted(runSnapshot({ plan: null }), [], String, paint)).toHaveProperty("why");
});

test("figures at a point have no exponent, however small they are beside the others", () => {
  const rows = [row("a", "tvm", [0, 0], { cost: cost({ seconds: 2e-3, spread_s: 1e-3, samples: 9 }) })];
  const runs = [runSummary("r1", { measured_s: 2e-3 })];
  for (const figure of [spreads(rows, String, paint), totals(runs, String, paint), predicted(runSnapshot({ time: planTime({ measured_s: 2e-3 }) }), runs, (one) => one.id, paint)]) {
    const formats = drawn(figure).traces.flatMap(({ hovertemplate }) => ((hovertemplate as string | undefined) ?? "").match(/%\{[xy]:[^}]*\}/g) ?? []);
    expect(formats.filter((one) => !one.endsWith(":.4~r}"))).toEqual([]);
  }
});

test("a name of a chart is printable", () => expect(plainText("a\u202eb")).toBe("a\\u202eb"));

test("texts are escaped that Plotly would read as tags", () => {
  expect(plainText('<a href="x">&')).toBe('&lt;a href="x"&gt;&amp;');
  expect(plainText("x".repeat(50), 10)).toBe(`${"x".repeat(9)}…`);
});
