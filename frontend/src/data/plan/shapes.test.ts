import { describe, expect, test } from "vitest";
import type { RunShape, RunShapes } from "../protocol";
import { answerTexts, shapeCards, stretchesOf } from "./shapes";

function shape(name: string, total_s: number, plan: [string, number[]][], more: Partial<RunShape> = {}): RunShape {
  return { name, weight: 0.5, total_s, measured_s: null, partitions: plan.map(([target, nodes]) => ({ target, nodes })), loses_s: [], ...more };
}

const FOUND: RunShapes = {
  run: "r",
  shapes: [shape("seq=16", 0.001, [["a", [0, 1, 3]], ["b", [2]]], { loses_s: [0, 0.003] }), shape("seq=64", 0.004, [["a", [0]], ["b", [1, 2, 3]]], { loses_s: [null, 0], measured_s: 0.005 })],
  shown: 1,
  one_plan: { total_s: 0.003, measured_s: null, reason: "" },
  by_range: { total_s: 0.002, measured_s: 0.0025, reason: "" },
  crossovers: [{ after: 0, dimension: "seq", below: 28, above: 34 }],
  chosen: "by_range",
  decided_by: "whole",
};

describe("shapes", () => {
  test("a plan is stretches of nodes on one target", () => {
    expect(stretchesOf(FOUND.shapes[0] as RunShape)).toEqual([
      { target: "a", first: 0, last: 1 },
      { target: "b", first: 2, last: 2 },
      { target: "a", first: 3, last: 3 },
    ]);
  });

  test("a card says what changed, where, and what fixing its shape loses", () => {
    const [first, second] = shapeCards(FOUND);
    expect(first).toMatchObject({ share: 0.2, changed: [], crossover: "", isShown: false, losses: ["seq=64: +3.00 ms"] });
    expect(second).toMatchObject({ share: 1, changed: [1, 3], crossover: "seq from 28 to 34", isShown: true, losses: ["seq=16: not to be had"] });
  });

  test("no crossover is named where the plan stays", () => {
    const same = { ...FOUND, shapes: [FOUND.shapes[0] as RunShape, { ...(FOUND.shapes[0] as RunShape), name: "seq=64" }] };
    expect(shapeCards(same)[1]?.crossover).toBe("");
  });

  test("the chosen answer comes first, and a missing one has its reason", () => {
    expect(answerTexts(FOUND)).toEqual(["one plan for each range takes 2.50 ms, measured (chosen, by the whole)", "one plan for all shapes takes 3.00 ms, predicted"]);
    const none = { ...FOUND, one_plan: { total_s: null, measured_s: null, reason: "the model has other nodes" } };
    expect(answerTexts(none)[1]).toBe("one plan for all shapes is not to be had: the model has other nodes");
  });
});
