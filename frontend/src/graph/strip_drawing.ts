// The strip: the whole model in topological order, one line a node, coloured by the overlay, its length by the size of what it
// makes; and the frame around what the graph shows. Drawing and places only.

import type { GraphJson } from "../protocol";
import type { Rect, Scene } from "./scene";

export interface StripView {
  count: number;
  colours: readonly string[];
  /** Nodes whose lines are broken: hatched in the graph. */
  hatched: ReadonlySet<number>;
  /** Per node, 0 to 1. */
  lengths: Float32Array;
  selected: ReadonlySet<number>;
  selectColour: string;
}

const SIDE = 7;
const MOST_LINE_PX = 5;

/** The height of one line; few nodes don't fill the strip. */
export function lineHeight(count: number, height: number): number {
  return Math.min(MOST_LINE_PX, height / Math.max(1, count));
}

/** Draw the lines on a canvas of CSS size width × height, whose transform is in CSS pixels. */
export function drawLines(context: CanvasRenderingContext2D, width: number, height: number, view: StripView): void {
  context.clearRect(0, 0, width, height);
  const line = lineHeight(view.count, height);
  const gap = line >= 3 ? 1 : 0;
  for (let node = 0; node < view.count; node++) {
    const length = (0.3 + 0.7 * (view.lengths[node] ?? 0)) * (width - 2 * SIDE);
    context.fillStyle = view.selected.has(node) ? view.selectColour : (view.colours[node] ?? "#888888");
    const extra = view.selected.has(node) ? 2 : 0;
    const height = Math.max(line - gap, 0.5) + extra;
    context.fillRect(SIDE - extra, node * line, length + 2 * extra, height);
    if (extra === 0 && view.hatched.has(node)) breakLine(context, length, node * line, height);
  }
}

const DASH = 4;
const BREAK = 2;

function breakLine(context: CanvasRenderingContext2D, length: number, top: number, height: number): void {
  for (let x = DASH; x < length; x += DASH + BREAK) context.clearRect(SIDE + x, top, BREAK, height);
}

/** Where the frame around the nodes in view stands, from the top: its height is at least one that can be seen. */
export function frameOf(seen: { first: number; last: number }, count: number, height: number): { top: number; height: number } {
  const line = lineHeight(count, height);
  return { top: Math.max(0, seen.first * line - 1.5), height: Math.max(6, (seen.last - seen.first + 1) * line + 2) };
}

/** Per node the logarithm of what it makes, scaled to 0..1. */
export function lengthsOf(graph: GraphJson): Float32Array {
  const logs = graph.nodes.map((node) =>
    Math.log2(1 + node.outputs.reduce((sum, tensor) => sum + tensor.shape.reduce((product, size) => product * size, 1), 0)),
  );
  const [low, high] = [Math.min(...logs), Math.max(...logs)];
  return Float32Array.from(logs, (log) => (high > low ? (log - low) / (high - low) : 0.6));
}

/** The first and last node that a rectangle shows. */
export function seenNodes(scene: Scene, area: Rect): { first: number; last: number } | undefined {
  let [first, last] = [Infinity, -1];
  for (const { box } of scene.boxesIn(area)) {
    const nodes = box.kind === "node" ? [box.id] : (scene.graph.groupAt.get(box.id)?.nodes ?? []);
    if (nodes.length === 0) continue;
    first = Math.min(first, nodes[0] ?? Infinity);
    last = Math.max(last, nodes.at(-1) ?? -1);
  }
  return last < 0 ? undefined : { first, last };
}
