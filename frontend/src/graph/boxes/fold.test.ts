import { expect, test } from "vitest";
import { inception, residual, transformer } from "../../../test/graphs";
import { atOnce, builtOf, sceneOf } from "../../../test/layouts";
import { partition } from "../../../test/runs";
import { touches } from "../../base/geometry";
import type { GraphJson, ModelGroups, NodeGroupJson, PlanPartition } from "../../data/protocol";
import { framing, handlesOf } from "../scene/handles";
import { boxesOf, hullsOf } from "../scene/hulls";
import { folding, type ShownGraph } from "./fold";
import { foldOf, groupCount, groupsAround, groupTree, FOLDS_FROM, GROUPINGS, openingGrouping, READABLE, type GroupTree } from "./groups";

const group = (first: number, count: number, name: string, times = 1): NodeGroupJson => ({ first, count, name, times, is_alike: false });
const groupsOf = (changes: Partial<ModelGroups>): ModelGroups => ({ id: "m1", repeats: [], scopes: [], sections: [], ...changes });

/** Twelve layers of 22 nodes, after the two nodes that make the mask. */
const json = transformer(12);
const LAYERS = groupsOf({ repeats: [group(2, 264, "layer", 12)] });
const layers = groupTree("repeats", LAYERS, []);
const folded = (tree: GroupTree, open: string[] = [], of: GraphJson = json): ShownGraph => atOnce(folding(builtOf(of), of.nodes, tree, new Set(open)));
const titles = ({ order, boxes }: ShownGraph): string[] => order.map((id) => boxes[id]?.title ?? "");

test("twelve layers are one box, which unfolds into twelve, which unfold into their nodes", () => {
  expect(titles(folded(layers))).toEqual(["mask", "Sub", "Mul", "embeddings", "layer ×12", "t265"]);
  const blocks = folded(layers, ["2.264"]);
  expect(titles(blocks).slice(3)).toEqual(["embeddings", ...Array.from({ length: 12 }, (_, i) => `layer ${i + 1}`), "t265"]);
  const one = folded(layers, ["2.264", "46.22"]);
  expect(one.order.length).toBe(blocks.order.length + 21);
  expect(one.unfolded.map((each) => each.name)).toEqual(["layer", "layer 3"]);
});

test("groups of one name have numbers, each among its siblings", () => {
  const scopes = [group(0, 4, "model.22"), group(1, 2, "model.22/conv"), group(4, 3, "model.23"), group(7, 4, "model.22"), group(8, 2, "model.22/conv")];
  const tree = groupTree("scopes", groupsOf({ scopes }), []);
  expect(tree.all.map((each) => each.name)).toEqual(["model.22 (1 of 2)", "conv", "model.23", "model.22 (2 of 2)", "conv"]);
});

test("a folded group's box says how many nodes it holds, and which", () => {
  const box = folded(layers).boxes.find((one) => one.title === "layer ×12");
  expect(box?.rows.map((row) => row.text)).toEqual(["12 × 22 nodes", "8 MatMul, 4 Reshape, 3 Transpose …"]);
});

test("every box has one that is drawn for it, and every edge joins two that are drawn", () => {
  for (const open of [[], ["2.264"], ["2.264", "2.22"]]) {
    const graph = folded(layers, open);
    const drawn = new Set(graph.order);
    expect(drawn.size).toBe(graph.order.length);
    for (const node of json.nodes) expect(drawn.has(graph.holder[node.id] ?? -1)).toBe(true);
    for (const { from, to } of graph.edges) expect([drawn.has(from), drawn.has(to), from !== to]).toEqual([true, true, true]);
  }
});

test("one edge is drawn for all edges between two boxes", () => {
  const edge = folded(layers, ["2.264"]).edges.find((one) => one.label === "1×128×768" && !one.isStub);
  expect(edge?.tensors.length).toBe(1);
  const modules = inception(2);
  const halves = folded(groupTree("sections", groupsOf({ sections: [group(0, 7, "a"), group(7, 7, "b")] }), []), [], modules);
  expect(halves.edges.filter((one) => halves.groupAt.has(one.from) && halves.groupAt.has(one.to)).map((one) => one.label)).toEqual(["3 tensors"]);
});

test("the order is topological however the groups lie in it", () => {
  const modules = inception(3);
  const plan = [partition("tvm", [0, 1, 10, 11]), partition("openvino", [2, 3, 4, 5]), partition("ncnn", [14, 15, 16, 17, 18])];
  const graph = folded(groupTree("partitions", groupsOf({}), plan), [], modules);
  expect(graph.groupAt.size).toBe(3);
  const index = new Map(graph.order.map((id, i) => [id, i]));
  for (const { from, to } of graph.edges) expect(index.get(from)).toBeLessThan(index.get(to) ?? -1);
});

test("groups that would make a circle are not folded", () => {
  const odd = groupTree("partitions", groupsOf({}), [partition("tvm", [0, 2]), partition("openvino", [1, 3])]);
  const graph = folded(odd, [], residual(2));
  expect(graph.groupAt.size).toBe(0);
  expect(graph.order.length).toBe(builtOf(residual(2)).order.length);
});

test("scopes stand within scopes, called by what their names have more", () => {
  const tree = groupTree("scopes", groupsOf({ scopes: [group(0, 9, "a"), group(0, 4, "a/x"), group(5, 3, "a/y/z"), group(9, 2, "b")] }), []);
  expect(tree.roots.map((root) => root.name)).toEqual(["a", "b"]);
  expect(tree.roots[0]?.inner.map((one) => [one.name, one.parent?.name])).toEqual([["x", "a"], ["y/z", "a"]]);
  expect(groupsAround(tree, 6).map((one) => one.id)).toEqual(["0.9", "5.3"]);
  expect(groupsAround(tree, 8).map((one) => one.id)).toEqual(["0.9"]);
  expect(groupsAround(tree, 99)).toEqual([]);
});

test("a large model opens folded by what says most in few boxes, else in sections; a small one as it is", () => {
  const sections = [group(0, 5000, "all")];
  const repeats = [group(0, 4990, "layer", 499)];
  const scopes = [group(10, 4900, "encoder")];
  const cut = (times: number, nodes: number): PlanPartition[] =>
    Array.from({ length: times }, (_, i) => partition("tvm", Array.from({ length: nodes / times }, (_, node) => (i * nodes) / times + node)));
  expect(openingGrouping(FOLDS_FROM - 1, groupsOf({ repeats, scopes, sections }), [])).toBe("nothing");
  expect(openingGrouping(5000, groupsOf({ repeats, scopes, sections }), [])).toBe("repeats");
  expect(openingGrouping(5000, groupsOf({ repeats: [group(0, 100, "x", 10)], scopes, sections }), [])).toBe("sections");
  expect(openingGrouping(5000, groupsOf({ sections }), [])).toBe("sections");
  const halves = [group(0, 120, "a"), group(120, 120, "b")];
  expect(openingGrouping(240, groupsOf({ scopes: halves, sections }), [])).toBe("scopes");
  expect(openingGrouping(240, groupsOf({ scopes: halves, sections }), cut(8, 240))).toBe("partitions");
  expect(openingGrouping(240, groupsOf({ repeats: [group(0, 240, "layer", 12)], scopes: halves, sections }), cut(8, 240))).toBe("repeats");
  expect(openingGrouping(240, groupsOf({ sections }), cut(1, 240))).toBe("sections");
});

test("boxes that can be read go before more boxes that tell more; where all are too many, the most telling of few", () => {
  const repeats = [group(0, 30, "m", 2), group(40, 30, "n", 2), group(90, 35, "cv", 3)];
  const scopes = Array.from({ length: 16 }, (_, i) => group(i * 14, 14, `model.${i}`));
  const boxes = 225 - 95 + repeats.length;
  expect([boxes > READABLE, boxes < FOLDS_FROM]).toEqual([true, true]);
  expect(openingGrouping(225, groupsOf({ repeats, scopes }), [])).toBe("scopes");
  expect(openingGrouping(225, groupsOf({ repeats }), [])).toBe("repeats");
});

test("groups are counted without a tree of them: those that stand in no other", () => {
  const found = groupsOf({ repeats: [group(0, 6, "layer", 3)], scopes: [group(0, 9, "a"), group(2, 3, "a/b"), group(5, 4, "a/c"), group(9, 2, "d")], sections: [] });
  const plan = [partition("tvm", [0, 1]), partition("openvino", [2])];
  for (const by of GROUPINGS) expect(groupCount(by, found, plan)).toBe(groupTree(by, found, plan).roots.length);
  expect(groupCount("scopes", found, plan)).toBe(2);
});

test("a link's fold is taken as far as there are such groups, and its node is not hidden", () => {
  const wanted = { by: "repeats", open: ["2.264", "9.9"], node: 50 } as const;
  expect([...foldOf(LAYERS, 266, [], wanted).open]).toEqual(["2.264", "46.22"]);
  expect(foldOf(LAYERS, 266, [], { by: null, open: [], node: null }).by).toBe("repeats");
});

test("a partition is drawn around boxes of its own nodes alone, and not where a folded group holds other nodes as well", () => {
  const scene = sceneOf(json, layers, new Set(["2.264"]));
  const hulls = hullsOf(scene, [partition("tvm", [...Array(46).keys()].slice(2)), partition("openvino", [46, 47])]);
  expect(hulls.map((hull) => hull.partition.target)).toEqual(["tvm"]);
  expect(boxesOf(scene, json.nodes.map((node) => node.id).slice(2)).length).toBe(12);
});

test("frames hold what is inside, an outer one the inner ones too; each group in view has one handle, none over another", () => {
  const scene = sceneOf(json, layers, new Set(["2.264", "2.22"]));
  const frames = atOnce(framing(scene));
  expect(frames.map((frame) => frame.group.id)).toEqual(["2.264", "2.22"]);
  const [outer, inner] = frames;
  for (const box of scene.drawn.filter((one) => one.box.id >= 2 && one.box.id < 24)) expect(inner && touches(inner.bounds, box)).toBe(true);
  expect(outer && inner && outer.bounds.x < inner.bounds.x && outer.bounds.width > inner.bounds.width).toBe(true);
  const handles = handlesOf(scene, frames, (title) => title.length * 6);
  expect(handles.filter((one) => one.isFolded).length).toBe(11);
  for (const [i, a] of handles.entries()) for (const b of handles.slice(i + 1)) expect(touches(a.rect, b.rect)).toBe(false);
});
