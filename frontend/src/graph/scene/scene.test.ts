import { expect, test } from "vitest";
import { inception, transformer } from "../../../test/graphs";
import { sceneOf } from "../../../test/layouts";
import { partition } from "../../../test/runs";
import { touches } from "../../base/geometry";
import { findBoxes, searchableBoxes } from "../boxes/find";
import { seenNodes } from "../canvas/strip";
import { hullAt, hullsOf } from "./hulls";
import { type Scene } from "./scene";
import { neighbour } from "./walk";

const modules = sceneOf(inception(2));
const layers = sceneOf(transformer(4));
const named = (scene: Scene, name: string): number => scene.graph.boxes.findIndex((box) => box.name === name);

test("the index finds what a search of all boxes finds", () => {
  for (const area of [modules.bounds, { x: 0, y: 250, width: 300, height: 400 }, { x: 5000, y: 0, width: 10, height: 10 }]) {
    const found = modules.boxesIn(area).map((box) => box.box.id);
    const all = modules.drawn.filter((box) => touches(box, area)).map((box) => box.box.id);
    expect(found.sort()).toEqual(all.sort());
  }
});

test("stubs have no course, and are found at their readers", () => {
  const stub = layers.edges.find((edge) => edge.edge.isStub);
  const reader = layers.boxes[stub?.edge.to ?? -1];
  expect(stub?.points.length).toBe(0);
  expect(reader && layers.edgesIn(reader)).toContain(stub);
});

test("a hull holds its boxes and no foreign one", () => {
  const hulls = hullsOf(modules, [partition("tvm", [0, 1]), partition("openvino", [2, 3, 4, 5]), partition("ncnn", [0, 1, 12])]);
  for (const hull of hulls) {
    for (const box of modules.drawn) {
      const isInside = hull.rects.some((rect) => touches(rect, box));
      expect(isInside, `${hull.partition.id} and ${box.box.name}`).toBe(hull.partition.nodes.includes(box.box.id));
    }
  }
});

test("the hull of a chain is one rectangle; branches that meet around other nodes are pieces, joined by their edges", () => {
  const [chain, branches] = hullsOf(modules, [partition("tvm", [2, 3, 4, 5]), partition("tvm", [0, 1, 10, 11, 12, 13])]);
  expect(chain?.rects).toHaveLength(1);
  expect(branches?.rects.length).toBeGreaterThan(1);
  expect(branches?.connectors.length).toBeGreaterThan(0);
});

test("the hull of a chain over two columns is a rectangle in each of them, joined by the one edge between them", () => {
  const [above, below] = [2, 4].map((id) => modules.boxes[id]);
  const columnEnds = [1e4];
  const boxes = modules.boxes.map((box, id) => (box && id >= 4 && id <= 5 ? { ...box, x: box.x + 2e4, y: box.y - (below?.y ?? 0) + (above?.y ?? 0) } : box));
  const [hull] = hullsOf({ ...modules, boxes, columnEnds }, [partition("tvm", [2, 3, 4, 5])]);
  expect(hull?.rects).toHaveLength(2);
  expect(hull?.connectors).toHaveLength(1);
});

test("the badge stands at the first box of its partition, wherever the uppermost one is", () => {
  const wrapped: Scene = { ...modules, boxes: modules.boxes.map((box, id) => (box && id >= 10 ? { ...box, y: box.y - 5000 } : box)) };
  for (const nodes of [[0, 1, 10, 11, 12, 13], [1, 12]]) {
    const [hull] = hullsOf(wrapped, [partition("tvm", nodes)]);
    const first = wrapped.boxes[nodes[0] ?? -1];
    expect(hull?.rects.length).toBeGreaterThan(1);
    expect(hull && first && touches(hull.anchor, first), String(nodes)).toBe(true);
  }
});

test("a point in a hull finds it, one beside all hulls finds nothing", () => {
  const hulls = hullsOf(modules, [partition("tvm", [0, 1])]);
  const box = modules.boxes[0];
  expect(box && hullAt(hulls, box.x + 1, box.y + 1)?.partition.target).toBe("tvm");
  expect(hullAt(hulls, -500, -500)).toBeUndefined();
});

test("a plan with nodes that the model does not have is not drawn", () => {
  expect(hullsOf(modules, [partition("tvm", [999])])).toEqual([]);
});

test("arrows walk along edges, and sideways among the branches", () => {
  const concat = named(modules, "Concat_13");
  const above = neighbour(modules, concat, "up") ?? -1;
  expect(modules.boxes[above]?.box.title).toBe("Relu");
  expect(neighbour(modules, above, "down")).toBe(concat);
  const beside = neighbour(modules, above, "right") ?? neighbour(modules, above, "left") ?? -1;
  expect(modules.boxes[beside]?.box.title).toBe("Relu");
  expect(neighbour(modules, named(modules, "data"), "up")).toBeUndefined();
});

test("the strip frames the nodes that are in view", () => {
  expect(seenNodes(modules, modules.bounds)).toEqual({ first: 0, last: 27 });
  expect(seenNodes(modules, { x: -900, y: 0, width: 10, height: 10 })).toBeUndefined();
});

test("find takes names, operators and tensors, the best match first", () => {
  const search = (query: string): string[] => findBoxes(searchableBoxes(modules.graph, (box) => [`t${box}`]), query).map((one) => modules.boxes[one.box]?.box.name ?? "");
  expect(search("concat")).toEqual(["Concat_13", "Concat_27"]);
  expect(search("relu_1")[0]).toBe("Relu_1");
  expect(search("t27")).toContain("Concat_27");
  expect(search("conv relu")).toEqual([]);
  expect(search("  ")).toEqual([]);
});
