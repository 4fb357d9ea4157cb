import { describe, expect, test } from "vitest";
import { inception } from "../../../test/graphs";
import { partition } from "../../../test/runs";
import { runTimes, times } from "../../../test/times";
import type { PlanInfo, PlanPartition } from "../protocol";
import { cellsOf, icicle, type Block, type Part } from "./icicle";
import { kernelsByNode } from "./node_times";

const { nodes } = inception();
const FIRST = partition("ncnn", [0, 1, 2, 3], 4e-3);
const SECOND = partition("tvm", [4, 5], 2e-3);
const TIMES = runTimes([times(FIRST, [[0, 1], 0.5], [[2], 0.25], [[3], 0.25])]);

function block(first: number, count: number, name: string, inner: Block[] = [], times = 1): Block {
  return { id: `${first}.${count}`, name, times, nodes: Array.from({ length: count }, (_, i) => first + i), inner };
}

function plan(...partitions: PlanPartition[]): PlanInfo {
  return { total_s: partitions.reduce((sum, one) => sum + (one.cost_s ?? 0), 0), total_interval_s: null, partitions, transitions: [] };
}

function tree(blocks: readonly Block[], of = plan(FIRST, SECOND)): Part {
  return icicle("tiny", of, kernelsByNode(TIMES, of.partitions), blocks, nodes);
}

function outline(part: Part): unknown {
  return part.inner.length > 0 ? [part.title, part.seconds * 1e3, part.inner.map(outline)] : [part.title, part.seconds * 1e3];
}

describe("icicle", () => {
  test("without blocks: partitions, then kernels, in the order of the model", () => {
    expect(outline(tree([]))).toEqual([
      "tiny",
      6,
      [
        ["ncnn", 4, [["Conv + Relu", 2], ["Conv", 1], ["Relu", 1]]],
        ["tvm", 2],
      ],
    ]);
  });

  test("a partition that reaches over two blocks is in each with its part, blocks inside blocks too", () => {
    const blocks = [block(0, 4, "layer", [block(0, 2, "layer 1"), block(2, 2, "layer 2")], 2)];
    expect(outline(tree(blocks))).toEqual([
      "tiny",
      6,
      [
        ["layer ×2", 4, [["layer 1", 2, [["ncnn", 2, [["Conv + Relu", 2]]]]], ["layer 2", 2, [["ncnn", 2, [["Conv", 1], ["Relu", 1]]]]]]],
        ["tvm", 2],
      ],
    ]);
  });

  test("what is in no block stands where it is in the model", () => {
    const all = { ...FIRST, nodes: [0, 1, 2, 3] };
    const found = icicle("tiny", plan(all), kernelsByNode(TIMES, [all]), [block(2, 1, "middle")], nodes);
    expect(outline(found)).toEqual(["tiny", 4, [["ncnn", 2, [["Conv + Relu", 2]]], ["middle", 1, [["ncnn", 1, [["Conv", 1]]]]], ["ncnn", 1, [["Relu", 1]]]]]);
  });

  test("what belongs to no kernel is a part of its own, and transitions stand at the end", () => {
    const rest = { ...times(FIRST, [[0, 1, 2, 3], 0.75]), rest_share: 0.25 };
    const of = { ...plan(FIRST), transitions: [{ from: "host", to: "ncnn", tensor: "t", bytes: 8, cost_s: 1e-3 }] };
    const made = icicle("tiny", of, kernelsByNode(runTimes([rest]), of.partitions), [], nodes);
    expect(outline(made)).toEqual(["tiny", 5, [["ncnn", 4, [["Conv + Relu + 2 more", 3], ["between kernels", 1]]], ["transitions", 1]]]);
  });

  test("partitions of unknown cost and of the host have no time", () => {
    const of = plan({ ...FIRST, cost_s: null }, partition("host", [4, 5], 0));
    expect(outline(icicle("tiny", of, new Map(), [], nodes))).toEqual(["tiny", 0]);
  });

  test("keys are unique, and each part holds its nodes once", () => {
    const all: Part[] = [];
    const collect = (part: Part): void => {
      all.push(part);
      part.inner.forEach(collect);
    };
    collect(tree([block(0, 4, "layer", [block(0, 2, "layer 1"), block(2, 2, "layer 2")], 2)]));
    expect(new Set(all.map((part) => part.key)).size).toBe(all.length);
    expect(all[0]?.nodes).toEqual([0, 1, 2, 3, 4, 5]);
  });
});

describe("cellsOf", () => {
  test("each row adds up to the one above it", () => {
    const cells = cellsOf(tree([]), "", 0).map(({ part, row, left, width }) => [part.title, row, Number(left.toFixed(4)), Number(width.toFixed(4))]);
    expect(cells).toEqual([
      ["tiny", 0, 0, 1],
      ["ncnn", 1, 0, 0.6667],
      ["Conv + Relu", 2, 0, 0.3333],
      ["Conv", 2, 0.3333, 0.1667],
      ["Relu", 2, 0.5, 0.1667],
      ["tvm", 1, 0.6667, 0.3333],
    ]);
  });

  test("the part in focus is as wide as all, and so is what is around it", () => {
    const root = tree([]);
    const cells = cellsOf(root, root.inner[0]?.key ?? "", 0);
    expect(cells.map(({ part, row, width }) => [part.title, row, width])).toEqual([["tiny", 0, 1], ["ncnn", 1, 1], ["Conv + Relu", 2, 0.5], ["Conv", 2, 0.25], ["Relu", 2, 0.25]]);
  });

  test("narrow parts are left out with all that is in them; a focus that is gone gives the whole", () => {
    expect(cellsOf(tree([]), "", 0.5).map(({ part }) => part.title)).toEqual(["tiny", "ncnn"]);
    expect(cellsOf(tree([]), "/gone", 0.5).map(({ part }) => part.title)).toEqual(["tiny", "ncnn"]);
  });
});
