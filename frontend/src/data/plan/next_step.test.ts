import { expect, test } from "vitest";
import { runSnapshot } from "../../../test/runs";
import type { Verdict } from "../protocol";
import { nextStep } from "./next_step";

const step = (verdict: Partial<Verdict>, recorded = false): string | undefined =>
  nextStep(runSnapshot({ recorded, verdict: { kind: "faster", text: "", is_good: false, against: "", statement: null, ...verdict } }))?.label;

test.each([
  ["a plan that is faster beyond doubt is shipped", { is_good: true }, "Ship"],
  ["one that is slower is compared with what is faster", { kind: "slower", against: "openvino" }, "Compare with openvino alone"],
  ["one of which nobody knows is measured on", { kind: "undecided", against: "tvm" }, "Measure on"],
  ["so is one that is only predicted to be faster", { kind: "faster" }, "Measure on"],
  ["a wrong one has no next step", { kind: "wrong" }, undefined],
] as const)("%s", (_, verdict, label) => expect(step(verdict)).toBe(label));

test("what was measured elsewhere is measured here", () => {
  expect(step({ kind: "undecided" }, true)).toBe("Measure here");
  expect(nextStep(runSnapshot())).toBeNull();
});
