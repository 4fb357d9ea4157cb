// The strip: the whole model in topological order, one line a node, coloured by the overlay, its length by the size of what it
// makes; and the frame around what the graph shows. Drawing and places only.

import type { Rect } from "../../base/geometry";
import type { GraphJson } from "../../data/protocol";
import type { Scene } from "../scene/scene";

export interface StripView {
  count: number;
  colours: readonly string[];
  /** Nodes whose lines are broken: hatched in the graph. */
  hatched: ReadonlySet<number>;
  /** Per node, 0 to 1. */
  lengths: Float32Array;
  /** Lines that stand out, in their own colours: what was found, what is selected. */
  marks: ReadonlyMap<number, string>;
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
  /** Of the longest length. */
  share: number;
  colour: string;
  isHatched: boolean;
}

/** A bar for each node; where several nodes share a pixel, one for those of them that look alike, as high as their share of it. */
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
  const sorts = new Map<string, { count: number; shares: number; colour: string; isHatched: boolean }>();
  for (let node = first; node < after; node++) {
    const [colour, isHatched] = [view.colours[node] ?? "#888888", view.hatched.has(node)];
    const key = isHatched ? `${colour} hatched` : colour;
    const sort = sorts.get(key) ?? { count: 0, shares: 0, colour, isHatched };
    sort.count += 1;
    sort.shares += view.lengths[node] ?? 0;
    sorts.set(key, sort);
  }
  let top = first * line;
  return [...sorts.values()].map(({ count, shares, colour, isHatched }) => {
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
