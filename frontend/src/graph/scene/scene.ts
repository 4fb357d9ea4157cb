// The scene: the laid-out graph, ready to be drawn. It has boxes with positions, edges with courses, and an index of what is in a
// rectangle. Made once for each model and fold; a plan never changes it.

import { boundsOf, type Rect, touches } from "../../base/geometry";
import { eachOf, type LongWork } from "../../base/long_work";
import type { Box, BuiltGraph, Edge } from "../boxes/build";
import type { ShownGraph } from "../boxes/fold";
import type { LayoutRequest, LayoutResult } from "../layout/core";
import type { Sizes } from "../layout/measure";

export interface PlacedBox extends Rect {
  box: Box;
}

export interface PlacedEdge {
  edge: Edge;
  /** x, y one after another; empty for a stub. */
  points: Float64Array;
  label: { x: number; y: number } | undefined;
  bounds: Rect;
}

export interface Scene {
  graph: ShownGraph;
  /** The boxes by id; undefined where a folded group hides the box. */
  boxes: readonly (PlacedBox | undefined)[];
  /** The drawn boxes, in the order of the model. */
  drawn: readonly PlacedBox[];
  edges: PlacedEdge[];
  bounds: Rect;
  /** The right end of each column of a wrapped graph but the last. */
  columnEnds: readonly number[];
  /** The edges into and out of each box, by its id. */
  into: PlacedEdge[][];
  out: PlacedEdge[][];
  boxesIn: (area: Rect) => PlacedBox[];
  edgesIn: (area: Rect) => PlacedEdge[];
}

/** The box that is drawn for a box: itself, or the folded group that hides it. */
export function holderOf(scene: Scene, box: number): PlacedBox | undefined {
  return scene.boxes[scene.graph.holder[box] ?? -1];
}

/** The request for the layout of a graph; stubs are left out. */
export function layoutRequest(graph: BuiltGraph, sizes: Sizes): LayoutRequest {
  const position = new Int32Array(graph.boxes.length);
  graph.order.forEach((id, i) => (position[id] = i));
  const count = graph.edges.filter((edge) => !edge.isStub).length;
  const [labels, edges] = [new Float64Array(2 * count), new Int32Array(2 * count)];
  let at = 0;
  graph.edges.forEach(({ from, to, isStub }, i) => {
    if (isStub) return;
    labels.set(sizes.labels.subarray(i * 2, i * 2 + 2), at);
    edges[at] = position[from] ?? 0;
    edges[at + 1] = position[to] ?? 0;
    at += 2;
  });
  return { boxes: sizes.boxes.slice(), labels, edges };
}

/** The first column of a wrapped graph, else all of it. */
export function leadOf({ bounds, columnEnds }: Scene): Rect {
  return { ...bounds, width: Math.min(bounds.width, columnEnds[0] ?? Infinity) };
}

/** The scene of a graph with this layout, whose columns end at `ends`; its top left corner is (0, 0). */
export function* placing(graph: ShownGraph, sizes: Sizes, layout: LayoutResult, ends: readonly number[] = []): LongWork<Scene> {
  const boxes: (PlacedBox | undefined)[] = new Array<undefined>(graph.boxes.length).fill(undefined);
  const drawn = yield* placingBoxes(graph, sizes, layout);
  for (const one of drawn) boxes[one.box.id] = one;
  const edges = yield* placingEdges(graph, boxes, layout);
  const bounds = boundsOf([boundsOf(drawn), boundsOf(edges.map((edge) => edge.bounds))]);
  yield;
  for (const box of drawn) move(box, -bounds.x, -bounds.y);
  const into: PlacedEdge[][] = boxes.map(() => []);
  const out: PlacedEdge[][] = boxes.map(() => []);
  yield* eachOf(edges, (edge) => {
    moveEdge(edge, -bounds.x, -bounds.y);
    into[edge.edge.to]?.push(edge);
    out[edge.edge.from]?.push(edge);
  });
  const all: Rect = { x: 0, y: 0, width: bounds.width, height: bounds.height };
  const columnEnds = ends.map((end) => end - bounds.x);
  const boxesIn = remembering(yield* indexing(drawn, (box) => box));
  const edgesIn = yield* indexing(edges, (edge) => edge.bounds);
  return { graph, boxes, drawn, edges, bounds: all, columnEnds, into, out, boxesIn, edgesIn };
}

function* placingBoxes(graph: ShownGraph, sizes: Sizes, layout: LayoutResult): LongWork<PlacedBox[]> {
  const placed: PlacedBox[] = [];
  yield* eachOf(graph.order, (id, i) => {
    const box = graph.boxes[id];
    const [width, height] = [sizes.boxes[i * 2] ?? 0, sizes.boxes[i * 2 + 1] ?? 0];
    const [x, y] = [(layout.centres[i * 2] ?? 0) - width / 2, (layout.centres[i * 2 + 1] ?? 0) - height / 2];
    if (box) placed.push({ box, x, y, width, height });
  });
  return placed;
}

const STUB_LENGTH = 18;

function* placingEdges(graph: BuiltGraph, boxes: readonly (PlacedBox | undefined)[], layout: LayoutResult): LongWork<PlacedEdge[]> {
  const placed: PlacedEdge[] = [];
  let laid = 0;
  yield* eachOf(graph.edges, (edge) => {
    if (edge.isStub) {
      placed.push({ edge, points: new Float64Array(0), label: undefined, bounds: stubBounds(edge, boxes) });
      return;
    }
    const i = laid++;
    const points = layout.points.slice(layout.offsets[i], layout.offsets[i + 1]);
    const [x, y] = [layout.labels[i * 2] ?? NaN, layout.labels[i * 2 + 1] ?? NaN];
    placed.push({ edge, points, label: Number.isNaN(x) ? undefined : { x, y }, bounds: pointBounds(points) });
  });
  return placed;
}

/** The bounds of a stub, which is drawn at its reader alone. */
function stubBounds(edge: Edge, boxes: readonly (PlacedBox | undefined)[]): Rect {
  const to = boxes[edge.to];
  return to ? { x: to.x, y: to.y - STUB_LENGTH, width: to.width, height: STUB_LENGTH } : { x: 0, y: 0, width: 0, height: 0 };
}

function pointBounds(points: Float64Array): Rect {
  let [left, top, right, bottom] = [Infinity, Infinity, -Infinity, -Infinity];
  for (let i = 0; i < points.length; i += 2) {
    left = Math.min(left, points[i] ?? 0);
    right = Math.max(right, points[i] ?? 0);
    top = Math.min(top, points[i + 1] ?? 0);
    bottom = Math.max(bottom, points[i + 1] ?? 0);
  }
  return { x: left, y: top, width: right - left, height: bottom - top };
}

function move(rect: Rect, dx: number, dy: number): void {
  rect.x += dx;
  rect.y += dy;
}

function moveEdge(edge: PlacedEdge, dx: number, dy: number): void {
  for (let i = 0; i < edge.points.length; i += 2) {
    edge.points[i] = (edge.points[i] ?? 0) + dx;
    edge.points[i + 1] = (edge.points[i + 1] ?? 0) + dy;
  }
  if (edge.label) edge.label = { x: edge.label.x + dx, y: edge.label.y + dy };
  move(edge.bounds, dx, dy);
}

/** Cache the last answer, since several steps of one frame ask for the same area. */
function remembering<T>(find: (area: Rect) => T[]): (area: Rect) => T[] {
  let known: Rect = { x: NaN, y: NaN, width: NaN, height: NaN };
  let found: T[] = [];
  return (area) => {
    if (area.x === known.x && area.y === known.y && area.width === known.width && area.height === known.height) return found;
    known = { ...area };
    found = find(area);
    return found;
  };
}

const BAND = 256;

/** Index things by horizontal bands, since models are tall. The function that is returned finds those in a rectangle. */
function* indexing<T>(things: readonly T[], rectOf: (thing: T) => Rect): LongWork<(area: Rect) => T[]> {
  const bands = new Map<number, T[]>();
  yield* eachOf(things, (thing) => {
    const rect = rectOf(thing);
    for (let band = Math.floor(rect.y / BAND); band <= Math.floor((rect.y + rect.height) / BAND); band++) {
      const list = bands.get(band);
      if (list) list.push(thing);
      else bands.set(band, [thing]);
    }
  });
  const [lowest, highest] = [Math.min(...bands.keys()), Math.max(...bands.keys())];
  return (area) => {
    const found: T[] = [];
    const first = Math.max(lowest, Math.floor(area.y / BAND));
    const last = Math.min(highest, Math.floor((area.y + area.height) / BAND));
    for (let band = first; band <= last; band++) {
      for (const thing of bands.get(band) ?? []) {
        const rect = rectOf(thing);
        const isNew = band === first || Math.floor(rect.y / BAND) === band; // else it was found in the band above
        if (isNew && touches(rect, area)) found.push(thing);
      }
    }
    return found;
  };
}
