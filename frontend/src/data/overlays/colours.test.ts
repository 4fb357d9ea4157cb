import { describe, expect, test } from "vitest";
import { partition, twoPlans, twoRegions } from "../../../test/runs";
import { isSamePaint, paintNode, paintNodes, type Painted, type Palette } from "./colours";
import { differenceOf } from "./difference";
import { doubt, heat } from "./ramps";

const PALETTE: Palette = { isDark: false, background: "#ffffff", bare: "rgb(150,150,150)", target: (name) => (name === "tvm" ? "#aa0066" : "#0066aa") };
const TVM = partition("tvm", [0, 1], 2e-3);

function paint(painted: Painted, node = 0, of = TVM): ReturnType<typeof paintNode> {
  return paintNode(painted, node, of, PALETTE);
}

/** The lightness that an eye sees of an `rgb()`. */
function lightness(colour: string): number {
  const [r = 0, g = 0, b = 0] = (colour.match(/\d+/g) ?? []).map(Number);
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

describe.each([
  ["heat", heat],
  ["doubt", doubt],
])("the ramp of %s", (_, ramp) => {
  test.each([true, false])("is ordered by lightness alone (dark: %s)", (isDark) => {
    const steps = Array.from({ length: 21 }, (_, i) => lightness(ramp(i / 20, isDark)));
    steps.slice(1).forEach((step, i) => expect(isDark ? step - (steps[i] ?? 0) : (steps[i] ?? 0) - step).toBeGreaterThan(0));
    expect(Math.abs((steps[20] ?? 0) - (steps[0] ?? 0))).toBeGreaterThan(120);
  });
});

test("by target, cost and certainty a node is painted as its partition; a node without a partition is not painted", () => {
  expect(paint({ overlay: "target" })?.fill).toBe("#aa0066");
  expect(paint({ overlay: "cost", hottestS: 4e-3, secondsOf: new Map() })?.fill).toBe(heat(0.5, false));
  expect(paint({ overlay: "certainty" })?.fill).toBe(doubt(0, false));
  for (const overlay of ["target", "certainty"] as const) expect(paintNode({ overlay }, 0, undefined, PALETTE)).toBeNull();
});

test("where the kernel of a node is known, the node is as hot as that, and not as its partition", () => {
  const painted: Painted = { overlay: "cost", hottestS: 2e-3, secondsOf: new Map([[0, 1.5e-3]]) };
  expect(paint(painted, 0)?.fill).toBe(heat(0.75, false));
  expect(paint(painted, 1)?.fill).toBe(heat(1, false));
});

test("nodes without a measured cost are hatched", () => {
  expect(paint({ overlay: "certainty" }, 0, { ...TVM, source: "estimate" })?.isHatched).toBe(true);
  expect(paint({ overlay: "certainty" })?.isHatched).toBe(false);
  expect(paint({ overlay: "cost", hottestS: 1, secondsOf: new Map() }, 0, { ...TVM, cost_s: null })).toMatchObject({ isHatched: true, fill: PALETTE.bare });
});

test("coverage distinguishes nodes that the target runs, could take, could not take, and those of the host", () => {
  const painted: Painted = { overlay: "coverage", target: "tvm", nodes: [{ kind: "takes" }, { kind: "takes" }, { kind: "cannot", stage: "import", reason: "no" }] };
  const runs = paint(painted, 0);
  const could = paint(painted, 1, partition("openvino", [1]));
  const cannot = paint(painted, 2, partition("openvino", [2]));
  expect(runs?.fill).toBe("#aa0066");
  expect(could?.fill).toBe("rgb(221,153,194)");
  expect(cannot).toMatchObject({ fill: PALETTE.bare, isHatched: true });
  expect(paint(painted, 0, partition("host", [0]))).toBeNull();
  expect(paint({ overlay: "coverage", target: "tvm", nodes: null }, 0)).toBeNull();
});

test("difference paints nodes with another target in the new target's colour, nodes that are only cut otherwise paler, and no others", () => {
  const same = partition("openvino", [3]);
  const plan = { total_s: 1, partitions: [TVM, partition("tvm", [2]), same], transitions: [], total_interval_s: null };
  const against = { total_s: 1, partitions: [partition("openvino", [0, 1]), partition("tvm", [2]), same], transitions: [], total_interval_s: null };
  const difference = differenceOf(plan, against, twoPlans([twoRegions("moved", [0, 1], [TVM.id], ["openvino-0-1"]), twoRegions("same", [2], ["tvm-2"], ["tvm-2"]), twoRegions("same", [3], [same.id], [same.id])], [0, 1]));
  expect(paint({ overlay: "difference", difference }, 0)?.fill).toBe("#aa0066");
  expect(paint({ overlay: "difference", difference }, 3, same)).toBeNull();
  const recut = differenceOf({ ...plan, partitions: [partition("tvm", [0]), partition("tvm", [1])] }, { ...plan, partitions: [TVM] }, twoPlans([twoRegions("recut", [0, 1], ["tvm-0", "tvm-1"], [TVM.id])]));
  expect(paint({ overlay: "difference", difference: recut }, 1)?.fill).toBe("rgb(221,153,194)");
  expect(paint({ overlay: "difference", difference: null }, 0)).toBeNull();
});

test("paints are compared by their looks", () => {
  const one = { fill: "#000", strength: 1, isHatched: false };
  expect(isSamePaint(one, { ...one })).toBe(true);
  expect(isSamePaint(one, { ...one, isHatched: true })).toBe(false);
  expect(isSamePaint(null, null)).toBe(true);
  expect(isSamePaint(null, one)).toBe(false);
});

test("nodes of one partition with equal looks share one paint, which is that of each alone", () => {
  const other = partition("openvino", [2, 3], 1e-3);
  const holders = new Map([[0, TVM], [1, TVM], [2, other], [3, other]]);
  const plan = { total_s: 3e-3, total_interval_s: null, partitions: [TVM, other], transitions: [] };
  const against = { ...plan, partitions: [TVM, partition("openvino", [2], 1e-3), partition("tvm", [3], 1e-3)] };
  const nodes = [{ kind: "takes" }, { kind: "cannot", stage: "build", reason: "no" }, { kind: "takes" }, { kind: "takes" }] as const;
  const all: Painted[] = [
    { overlay: "target" },
    { overlay: "cost", hottestS: 2e-3, secondsOf: new Map([[1, 1e-3]]) },
    { overlay: "coverage", target: "openvino", nodes },
    { overlay: "difference", difference: differenceOf(plan, against, twoPlans([twoRegions("same", [0, 1], [TVM.id], [TVM.id]), twoRegions("moved", [2, 3], [other.id], ["openvino-2", "tvm-3"])], [3])) },
    { overlay: "search", triedId: other.id, isRefused: true, isLive: false, covered: 5 },
  ];
  for (const painted of all) {
    const paints = paintNodes(painted, 5, holders, PALETTE);
    expect(paints).toEqual([0, 1, 2, 3, 4].map((node) => paintNode(painted, node, holders.get(node), PALETTE)));
    if (painted.overlay !== "difference") expect(paints[2]).toBe(paints[3]);
  }
});
