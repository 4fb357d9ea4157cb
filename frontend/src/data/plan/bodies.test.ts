import { describe, expect, test } from "vitest";
import type { BodyInfo, ControlNode } from "../protocol";
import { bodyPicture, bodyText, MOST_DRAWN, ranText, runsOnText } from "./bodies";

const BODY: BodyInfo = {
  attribute: "body",
  runs: 20,
  total_s: 2.29e-6,
  nodes: [
    { name: "a", op: "MatMul", reads: [] },
    { name: "b", op: "com.microsoft.Gelu", reads: [] },
    { name: "c", op: "If", reads: [0, 1] },
    { name: "d", op: "Relu", reads: [0, 2] },
  ],
  partitions: [
    { target: "tvm", nodes: [0, 1], cost_s: 1e-6 },
    { target: "host", nodes: [2], cost_s: 1e-6 },
    { target: "onnxruntime", nodes: [3], cost_s: null },
  ],
  inner: [],
};
const NODE: ControlNode = { node: 3, name: "loop", op: "Loop", runs_on: "host", host_s: 1.2e-4, host_is_measured: true, host_reason: "", bodies: [BODY] };

describe("the words about bodies", () => {
  test("how often a body ran", () => {
    expect([0, 1, 20].map(ranText)).toEqual(["never ran with these inputs", "ran once", "ran 20 times"]);
    expect(bodyText(BODY)).toBe("4 nodes in 3 partitions, 2.29 µs a run");
  });

  test("who runs the node", () => {
    expect(runsOnText(NODE)).toEqual(["The host runs it, body by body", "On the host it takes 0.12 ms, measured with its bodies as planned"]);
    const whole = { ...NODE, runs_on: "onnxruntime", host_is_measured: false };
    expect(runsOnText(whole)).toEqual(["onnxruntime runs it as a whole", "On the host it takes 0.12 ms, its bodies' costs as often as they ran"]);
    expect(runsOnText({ ...whole, host_s: null, host_reason: "its bodies never ran" })[1]).toBe("On the host it has no cost: its bodies never ran");
  });
});

describe("bodyPicture", () => {
  test("each node is below all that it reads, in the target's colour", () => {
    const picture = bodyPicture({ ...BODY, inner: [{ ...NODE, node: 2 }] });
    const boxes = picture?.boxes ?? [];
    expect(boxes.map((box) => [box.text, box.target, box.hasBodies])).toEqual([
      ["MatMul", "tvm", false],
      ["Gelu", "tvm", false],
      ["If", "host", true],
      ["Relu", "onnxruntime", false],
    ]);
    expect(picture?.lines.every(({ from, to }) => from.y < to.y)).toBe(true);
    expect(picture?.lines).toHaveLength(4);
    expect(new Set(boxes.map((box) => `${box.x},${box.y}`)).size).toBe(4);
    expect(boxes.every((box) => box.x + 80 <= (picture?.width ?? 0) && box.y + 20 <= (picture?.height ?? 0))).toBe(true);
  });

  test("a large body is not drawn small", () => {
    const nodes = Array.from({ length: MOST_DRAWN + 1 }, (_, index) => ({ name: String(index), op: "Relu", reads: index > 0 ? [index - 1] : [] }));
    expect(bodyPicture({ ...BODY, nodes })).toBeNull();
    expect(bodyPicture({ ...BODY, nodes: nodes.slice(1) })?.boxes).toHaveLength(MOST_DRAWN);
  });
});
