// Draws the strip: the whole model in topological order, a line for each node, coloured by the overlay and as long as its output is
// large; and computes the frame around the nodes that the graph shows.

import type { Rect } from "../../base/geometry";
import type { GraphJson } from "../../data/protocol";
import type { Scene } from "../scene/scene";

export interface StripView {
  count: number;
  colours: readonly string[];
  /** Nodes with a dashed line; the graph hatches them. */
  hatched: ReadonlySet<number>;
  /** The length of each line, from 0 to 1. */
  lengths: Float32Array;
  /** The colours of lines that stand out: found and selected nodes. */
  marks: ReadonlyMap<number, string>;
}

const SIDE = 7;
const MOST_LINE_PX = 5;

/** The height of one line; few nodes do not fill the strip. */
export function lineHeight(count: number, height: number): number {
  return Math.min(MOST_LINE_PX, height / Math.max(1, count));
}

/** Draw the lines on a canvas of this size in CSS pixels, in which its transform is, too. */
export function drawLines(context: CanvasRenderingContext2D, width: number, height: number, view: StripView): void {
  context.clearRect(0, 0, width, height);
  const line = lineHeight(view.count, height);
  const gap = line >= 3 ? 1 : 0;
  const lengthAt = (share: number): number => (0.3 + 0.7 * share) * (width - 2 * SIDE);
  for (const { top, high, share, colour, isHatched } of barsOf(view, line)) {
    const length = lengthAt(share);
    context.fillStyle = colour;
    context.fillRect(SIDE, top, length, high - gap);
    if (isHatched) breakLine(context, length, top, high - gap);
  }
  for (const [node, colour] of view.marks) {
    context.fillStyle = colour;
    if (node < view.count) context.fillRect(SIDE - 2, node * line, lengthAt(view.lengths[node] ?? 0) + 4, Math.max(line - gap, 0.5) + 2);
  }
}

interface Bar {
  top: number;
  high: number;
  /** Its length as a share of the longest. */
  share: number;
  colour: string;
  isHatched: boolean;
}

/** A bar for each node. Nodes that share a pixel have a bar for each of their looks, as high as its share of them. */
export function barsOf(view: StripView, line: number): Bar[] {
  const bars: Bar[] = [];
  for (let first = 0; first < view.count; ) {
    let after = first + 1;
    while (after < view.count && Math.floor(after * line) === Math.floor(first * line)) after += 1;
    bars.push(...barsIn(view, line, first, after));
    first = after;
  }
  return bars;
}

function barsIn(view: StripView, line: number, first: number, after: number): Bar[] {
  const looks = new Map<string, { count: number; shares: number; colour: string; isHatched: boolean }>();
  for (let node = first; node < after; node++) {
    const [colour, isHatched] = [view.colours[node] ?? "#888888", view.hatched.has(node)];
    const key = isHatched ? `${colour} hatched` : colour;
    const look = looks.get(key) ?? { count: 0, shares: 0, colour, isHatched };
    look.count += 1;
    look.shares += view.lengths[node] ?? 0;
    looks.set(key, look);
  }
  let top = first * line;
  return [...looks.values()].map(({ count, shares, colour, isHatched }) => {
    const bar = { top, high: count * line, share: shares / count, colour, isHatched };
    top += bar.high;
    return bar;
  });
}

const DASH = 4;
const BREAK = 2;

function breakLine(context: CanvasRenderingContext2D, length: number, top: number, height: number): void {
  for (let x = DASH; x < length; x += DASH + BREAK) context.clearRect(SIDE + x, top, BREAK, height);
}

/** The top and height of the frame around the nodes in view; it is high enough to be seen. */
export function frameOf(seen: { first: number; last: number }, count: number, height: number): { top: number; height: number } {
  const line = lineHeight(count, height);
  return { top: Math.max(0, seen.first * line - 1.5), height: Math.max(6, (seen.last - seen.first + 1) * line + 2) };
}

/** The logarithm of each node's output size, scaled to 0..1. */
export function lengthsOf(graph: GraphJson): Float32Array {
  const logs = graph.nodes.map((node) =>
    Math.log2(1 + node.outputs.reduce((sum, tensor) => sum + (tensor.measured_shape ?? tensor.shape).reduce<number>((product, size) => product * (size ?? 1), 1), 0)),
  );
  const [low, high] = [Math.min(...logs), Math.max(...logs)];
  return Float32Array.from(logs, (log) => (high > low ? (log - low) / (high - low) : 0.6));
}

/** The first and the last node in a rectangle of the graph; undefined where it has none. */
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
