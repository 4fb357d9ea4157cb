import { expect, test } from "vitest";
import { cost, invalid, row } from "../../../test/candidates";
import type { RunEstimates } from "../protocol";
import { estimated } from "./estimated";
import type { Figure, NoFigure } from "./figure";

const paint = (name: string): string => `colour of ${name}`;
const HERE = "a machine, 2 cores";

function estimates(seconds: Record<string, number>): RunEstimates {
  return { run: "r1", machine: HERE, reason: "an estimate by roofline: by rates", seconds };
}

function drawn(found: Figure | NoFigure): Figure {
  if ("why" in found) throw new Error(found.why);
  return found;
}

const rows = [
  row("a", "tvm", [0, 0], { cost: cost({ seconds: 6e-3 }), chosen: true }),
  row("b", "tvm", [1, 1], { cost: cost({ seconds: 6e-3 }) }),
  row("c", "tvm", [2, 3], { cost: cost({ seconds: 3e-4 }) }),
  row("d", "openvino", [0, 0], { cost: cost({ seconds: 1e-3 }) }),
  row("e", "openvino", [1, 1], { cost: cost({ seconds: 2e-3, source: "estimate", samples: 0, spread_s: null }) }),
  row("f", "openvino", [2, 2], { cost: invalid("build", "no") }),
];
const all = estimates({ a: 2e-3, b: 2e-3, c: 1e-3, d: 1e-3 });

test("each measurement is one point in its target's colour, and a click on it is about its candidate", () => {
  const figure = drawn(estimated(rows, all, HERE, (one) => `<b>${one.id}</b>`, paint));
  const [openvino, tvm, ...lines] = figure.traces;
  expect([openvino?.name, openvino?.["x"], openvino?.["y"], openvino?.customdata]).toEqual(["openvino", [1], [1], ["d"]]);
  expect([tvm?.name, tvm?.["x"], tvm?.["y"], tvm?.customdata]).toEqual(["tvm", [2, 1], [6, 0.3], ["a", "c"]]);
  expect(tvm?.["marker"]).toMatchObject({ color: "colour of tvm", symbol: ["diamond", "circle"] });
  expect(tvm?.["text"]).toEqual(["&lt;b&gt;a&lt;/b&gt; ×2, in the plan<br>3.0× its estimate", "&lt;b&gt;c&lt;/b&gt;<br>0.30× its estimate"]);
  expect(lines.map((one) => one.name)).toEqual(["as estimated", "2 times off"]);
  expect([figure.axes.x["type"], figure.axes.y["type"]]).toEqual(["log", "log"]);
});

test("the summary has the median factor, each target's, and how many are far off", () => {
  const figure = drawn(estimated(rows, all, HERE, String, paint));
  expect(figure.summary).toBe(
    "The median of 3 measurements takes 1.0× its estimate (openvino 1.0×, tvm 1.6×); 2 (66.7 %) are more than 2 times off, " +
      "1 of them cheaper than estimated. An estimate here: by rates. It is no cost.",
  );
  expect(drawn(estimated(rows, all, "elsewhere", String, paint)).summary).toContain(`The estimates are for ${HERE}; the costs were measured on elsewhere.`);
  expect(drawn(estimated(rows.slice(0, 1), all, HERE, String, paint)).summary).toMatch(/^The one measurement takes 3\.0× its estimate; 1 \(100 %\)/);
});

test("its numbers are in seconds, with the factor", () => {
  const figure = drawn(estimated(rows, all, HERE, (one) => one.id, paint));
  expect(figure.rows.map((cells) => cells.length)).toEqual(Array(3).fill(figure.header.length));
  expect(figure.rows[0]?.slice(0, 4)).toEqual(["tvm", "a", 2e-3, 6e-3]);
  expect(figure.rows[0]?.[4]).toBeCloseTo(3);
});

test("where nothing was measured, or nothing is estimated, it says so", () => {
  expect(estimated(rows.slice(4), all, HERE, String, paint)).toHaveProperty("why");
  expect(estimated(rows, estimates({}), HERE, String, paint)).toHaveProperty("why");
});
