import { describe, expect, test } from "vitest";
import { chain } from "../../../test/graphs";
import { partition } from "../../../test/runs";
import { runTimes, times } from "../../../test/times";
import { costOfNodes, dearest, kernelsByNode, kernelTitle, nodeTimeText } from "./node_times";

const ALL = partition("onnxruntime", [0, 1, 2], 1e-3);
const { nodes } = chain();
const KERNELS = kernelsByNode(runTimes([times(ALL, [[0, 1], 0.75, "FusedConv"], [[2], 0.25, "MaxPool"])]), [ALL]);

function holders(...partitions: ReturnType<typeof partition>[]): Map<number, ReturnType<typeof partition>> {
  return new Map(partitions.flatMap((one) => one.nodes.map((node): [number, typeof one] => [node, one])));
}

describe("kernelsByNode", () => {
  test("nodes that one kernel computes share its time", () => {
    expect(KERNELS.get(0)).toBe(KERNELS.get(1));
    expect(KERNELS.get(0)).toMatchObject({ nodes: [0, 1], share: 0.75, seconds: 0.75e-3, kernel: "FusedConv", source: "profiler" });
  });

  test("partitions of another plan are left out, a single node needs no profile", () => {
    const [other, single] = [partition("tvm", [0, 1]), partition("tvm", [2], 2e-3)];
    const found = kernelsByNode(runTimes([times(ALL, [[0, 1, 2], 1])]), [other, single]);
    expect([...found.keys()]).toEqual([2]);
    expect(found.get(2)).toMatchObject({ seconds: 2e-3, source: "cost" });
  });

  test("where the cost is not known, only the share is", () => {
    expect(kernelsByNode(runTimes([times(ALL, [[0, 1, 2], 1])]), [{ ...ALL, cost_s: null }]).get(0)).toMatchObject({ share: 1, seconds: null });
  });
});

describe("nodeTimeText", () => {
  test("a node of its own: its share, and what it takes alone", () => {
    const lines = nodeTimeText(2, KERNELS.get(2), { ncnn: [null, null, 1e-3], onnxruntime: [null, null, 0.083e-3], tvm: [1, 1, null], openvino: [0, 0, 0.26e-3] }, nodes);
    expect(lines).toEqual([
      "This MaxPool takes 25.0 % of the partition: 0.25 ms by onnxruntime's profiler, scaled to the cost of the partition",
      "Alone it takes 83.0 µs on onnxruntime (a third of that), 0.26 ms on openvino (about as long), 1.00 ms on ncnn (4.0 times that)",
    ]);
  });

  test("a share is called by a simple word only where that is near", () => {
    const [, said] = nodeTimeText(2, KERNELS.get(2), { ncnn: [null, null, 0.13e-3], tvm: [null, null, 0.16e-3], openvino: [null, null, 0.2e-3] }, nodes);
    expect(said).toBe("Alone it takes 0.13 ms on ncnn (half of that), 0.16 ms on tvm (64.0 % of that), 0.20 ms on openvino (80.0 % of that)");
  });

  test("a fused node names its company, and is not compared with itself alone", () => {
    expect(nodeTimeText(1, KERNELS.get(1), { tvm: [1, 1, 1] }, nodes)).toEqual([
      "This Relu is one kernel with 1 other node, FusedConv; it takes 75.0 % of the partition: 0.75 ms by onnxruntime's profiler, scaled to the cost of the partition",
    ]);
  });

  test("times of nodes alone say what they are; where nothing is known, nothing is said", () => {
    const alone = kernelsByNode(runTimes([{ ...times(ALL, [[0], 0.5], [[1], 0.25], [[2], 0.25]), source: "candidates" }]), [ALL]);
    expect(nodeTimeText(0, alone.get(0), {}, nodes)[0]).toMatch(/0\.50 ms by the costs of its nodes, each alone on onnxruntime: nothing is fused in them$/);
    expect(nodeTimeText(0, undefined, {}, nodes)).toEqual([]);
  });
});

describe("costOfNodes", () => {
  test("whole partitions count by their cost, parts of others by their kernels", () => {
    const other = partition("tvm", [3, 4], 2e-3);
    const found = costOfNodes([1, 2, 3, 4], holders(ALL, other), KERNELS);
    expect(found).toMatchObject({ partitions: 2, uncounted: 0 });
    expect(found.seconds).toBeCloseTo(0.375e-3 + 0.25e-3 + 2e-3, 9);
  });

  test("a part of a partition that nobody knows inside is not counted", () => {
    expect(costOfNodes([0], holders(ALL), new Map())).toEqual({ seconds: 0, partitions: 1, uncounted: 1 });
    expect(costOfNodes([0, 1, 2], holders({ ...ALL, cost_s: null }), new Map())).toEqual({ seconds: null, partitions: 1, uncounted: 0 });
  });
});

test("the dearest kernels come first, each once", () => {
  expect(dearest(ALL, KERNELS, 5).map((one) => one.share)).toEqual([0.75, 0.25]);
  expect(dearest(ALL, KERNELS, 1)).toHaveLength(1);
});

test("a kernel is called after its operators", () => {
  expect(kernelTitle([0, 1], nodes)).toBe("Conv + Relu");
  expect(kernelTitle([0, 1, 2, 0, 1], nodes)).toBe("Conv + Relu + 3 more");
});
