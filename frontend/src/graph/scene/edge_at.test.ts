import { expect, test } from "vitest";
import type { Edge } from "../boxes/build";
import { edgeAt } from "./edge_at";
import type { PlacedEdge, Scene } from "./scene";

function edge(from: number, to: number, points: number[], isStub = false): PlacedEdge {
  return { edge: { from, to, tensors: [], label: "", isStub }, points: Float64Array.from(points), label: undefined, bounds: { x: 0, y: 0, width: 0, height: 0 } };
}

const straight = edge(0, 1, [100, 0, 100, 200]);
const curved = edge(0, 2, [100, 0, 300, 200]);
const stub = edge(1, 2, [100, 0, 100, 200], true);
const toOutput = edge(2, 9, [500, 0, 500, 200]);
const scene = { graph: { nodeCount: 3 }, edgesIn: () => [stub, curved, straight, toOutput] } as unknown as Scene;
const at = (x: number, y: number): Edge | undefined => edgeAt(scene, x, y, 5);

test("the nearest edge within reach is found, along its course", () => {
  expect(at(103, 150)).toBe(straight.edge);
  expect(at(200, 100)).toBe(curved.edge);
  expect(at(298, 190)).toBe(curved.edge);
  expect(at(200, 60)).toBeUndefined();
  expect(at(110, 150)).toBeUndefined();
});

test("edges of the model's own inputs and outputs are not found, since no decision is about them", () => {
  expect(at(500, 100)).toBeUndefined();
});
