import { expect, test } from "vitest";
import type { PlacedEdge } from "../scene/scene";
import { detailAt } from "./detail";
import type { Drawing } from "./drawing";
import { drawEdgeLabels } from "./edges";

interface Drawn {
  text: string;
  left: number;
  y: number;
}

test("what crosses at an edge stands below the shape of the tensor, and begins where that begins: right of the edge, and above a badge", () => {
  const drawn: Drawn[] = [];
  const widthOf = (text: string): number => 6 * text.length;
  const context = {
    textAlign: "",
    measureText: (text: string) => ({ width: widthOf(text) }),
    fillText(text: string, x: number, y: number) {
      drawn.push({ text, left: this.textAlign === "left" ? x : x - widthOf(text) / 2, y });
    },
  };
  const edge = (label: string, to: number): PlacedEdge => ({ edge: { label, to }, label: { x: 100, y: 50 } }) as unknown as PlacedEdge;
  const edges = [edge("1×64", 0), edge("1×32", 0), edge("1×20", 1)];
  const crossings = new Map([
    [edges[0]?.edge, { label: "512 bytes · 12 µs" }],
    [edges[2]?.edge, { label: "80 bytes · 0 µs" }],
  ]);
  const scene = { graph: { boxes: [{ kind: "node" }, { kind: "output" }] } };
  drawEdgeLabels({ context, frame: { theme: {}, crossings, scene } } as unknown as Drawing, edges, detailAt(1));
  expect(drawn).toEqual([
    { text: "1×64", left: 88, y: 44.5 },
    { text: "512 bytes · 12 µs", left: 88, y: 55.5 },
    { text: "1×32", left: 88, y: 50 },
    { text: "1×20", left: 88, y: 50 },
    { text: "80 bytes · 0 µs", left: 88, y: 61 },
  ]);
});
