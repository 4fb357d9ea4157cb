// Wraps a tall layout into columns, so that the whole graph fills the window. In go the sizes of the boxes, a layout, the size of the
// window and what the user wants; out comes the layout with its lower parts beside the upper ones. Edges from one column to another go
// through the gap between.

import type { Size } from "../../base/geometry";
import type { LongWork } from "../../base/long_work";
import type { LayoutRequest, LayoutResult } from "./core";

export interface Wrapped {
  layout: LayoutResult;
  /** The right end of each column but the last: none where there is only one. */
  ends: readonly number[];
}

/** The wish for columns: always, never, or only for a graph with too many boxes to be read from the top down. */
export type Columns = "auto" | "on" | "off";

/** Up to so many boxes a graph runs straight down unless columns are turned on. */
export const MOST_STRAIGHT = 60;
/** A graph that is fitted at this scale can be read, and stays one column. */
const READABLE = 0.6;
/** More columns must make the graph larger by this factor, each time. */
const GAIN = 1.1;
const MOST_COLUMNS = 64;
/** So many edges are moved before the next frame may be drawn. */
const EDGES_AT_ONCE = 2000;
/** The gap between two columns, and what every edge through it adds. */
const GUTTER = 56;
const LANE = 6;
/** How far below a cut an edge turns to the next column: its label is at the cut, and the outline of a partition is around both. */
const DROP = 22;
/** How far from an even division a cut may be, as a share of a column's height. */
const SLACK = 0.35;
/** The distance, as a share of a column's height, that one crossed edge less is worth. */
const CROSSING = 0.03;

/** A height at which no box is cut, and the number of edges that cross it. */
interface Cut {
  y: number;
  crossing: number;
  /** The first row below it. */
  row: number;
}

/** A stretch between a cut and the next, or several rows as a column: the left and right end of its boxes and edges. */
interface Row {
  left: number;
  right: number;
}

interface Extents {
  left: Float64Array;
  right: Float64Array;
  top: Float64Array;
  bottom: Float64Array;
}

/** Wrap the layout into as many columns as show it largest in a window of this size. */
export function* wrapping({ boxes }: LayoutRequest, laid: LayoutResult, room: Size, columns: Columns = "on"): LongWork<Wrapped> {
  const one: Wrapped = { layout: laid, ends: [] };
  const isStraight = columns === "off" || (columns === "auto" && boxes.length / 2 <= MOST_STRAIGHT);
  if (isStraight || room.width <= 0 || room.height <= 0 || boxes.length < 4) return one;
  const extents = extentsOf(boxes, laid.centres);
  const whole = spanOf(extents);
  if (Math.min(room.width / whole.width, room.height / whole.height) >= READABLE) return one;
  yield;
  const cuts = cutsOf(extents, laid);
  yield;
  const rows = rowsOf(extents, laid, cuts);
  const lines = yield* bestLines(rows, whole, cuts, room);
  yield;
  return lines.length === 0 ? one : yield* inColumns(laid, rows, lines, whole);
}

interface Span extends Size {
  top: number;
}

function extentsOf(boxes: Float64Array, centres: Float64Array): Extents {
  const edge = (axis: 0 | 1, side: 1 | -1): Float64Array => Float64Array.from({ length: boxes.length / 2 }, (_, i) => (centres[i * 2 + axis] ?? 0) + (side * (boxes[i * 2 + axis] ?? 0)) / 2);
  return { left: edge(0, -1), right: edge(0, 1), top: edge(1, -1), bottom: edge(1, 1) };
}

function spanOf({ left, right, top, bottom }: Extents): Span {
  const least = (values: Float64Array): number => values.reduce((a, b) => Math.min(a, b), Infinity);
  const most = (values: Float64Array): number => values.reduce((a, b) => Math.max(a, b), -Infinity);
  return { top: least(top), width: Math.max(1, most(right) - least(left)), height: Math.max(1, most(bottom) - least(top)) };
}

/** All heights between two rows of boxes, from the top down. */
function cutsOf({ top, bottom }: Extents, { points, offsets }: LayoutResult): Cut[] {
  const order = [...top.keys()].sort((a, b) => (top[a] ?? 0) - (top[b] ?? 0));
  const cuts: Cut[] = [];
  let reached = -Infinity;
  for (const box of order) {
    const above = top[box] ?? 0;
    if (above > reached && reached > -Infinity) cuts.push({ y: (above + reached) / 2, crossing: 0, row: cuts.length + 1 });
    reached = Math.max(reached, bottom[box] ?? 0);
  }
  const change = new Int32Array(cuts.length + 1);
  for (let edge = 0; edge + 1 < offsets.length; edge++) {
    const [first, after] = [offsets[edge] ?? 0, offsets[edge + 1] ?? 0];
    const [from, to] = [columnAt(points[first + 1] ?? 0, cuts), columnAt(points[after - 1] ?? 0, cuts)];
    change[from] = (change[from] ?? 0) + 1;
    change[to] = (change[to] ?? 0) - 1;
  }
  let crossing = 0;
  cuts.forEach((cut, i) => (cut.crossing = crossing += change[i] ?? 0));
  return cuts;
}

/** The rows between the cuts, from the top down. */
function rowsOf({ left, right, top }: Extents, { points }: LayoutResult, cuts: readonly Cut[]): Row[] {
  const rows = Array.from({ length: cuts.length + 1 }, (): Row => ({ left: Infinity, right: -Infinity }));
  const widen = (from: number, to: number, y: number): void => {
    const row = rows[columnAt(y, cuts)];
    if (row && !Number.isNaN(from)) [row.left, row.right] = [Math.min(row.left, from), Math.max(row.right, to)];
  };
  top.forEach((y, box) => widen(left[box] ?? 0, right[box] ?? 0, y));
  for (let i = 0; i < points.length; i += 2) widen(points[i] ?? 0, points[i] ?? 0, points[i + 1] ?? 0);
  return rows;
}

/** The number of cuts above a height. */
function columnAt(y: number, cuts: readonly Cut[]): number {
  let [low, high] = [0, cuts.length];
  while (low < high) {
    const middle = (low + high) >> 1;
    if ((cuts[middle]?.y ?? 0) <= y) low = middle + 1;
    else high = middle;
  }
  return low;
}

/** The cuts with which the graph is largest in the window; none where one column is. */
function* bestLines(rows: readonly Row[], whole: Span, cuts: readonly Cut[], room: Size): LongWork<Cut[]> {
  let best: Cut[] = [];
  let largest = Math.min(room.width / whole.width, room.height / whole.height) * GAIN;
  const usual = Math.sqrt((whole.height * room.width) / (whole.width * room.height));
  for (let count = 2; count <= Math.min(MOST_COLUMNS, Math.ceil(2 * usual) + 2, cuts.length + 1); count++) {
    yield;
    const lines = linesFor(count, whole, cuts);
    const scale = scaleOf(rows, whole, lines, room);
    if (scale <= largest) continue;
    [best, largest] = [lines, scale];
  }
  return best;
}

/** The cuts that divide the graph into about `count` columns of one height, where few edges pass. */
function linesFor(count: number, whole: Span, cuts: readonly Cut[]): Cut[] {
  const high = whole.height / count;
  const lines: Cut[] = [];
  for (let i = 1; i < count; i++) {
    const wanted = whole.top + i * high;
    const worth = (cut: Cut): number => Math.abs(cut.y - wanted) / high + CROSSING * cut.crossing;
    const [from, to] = [columnAt(wanted - SLACK * high, cuts), columnAt(wanted + SLACK * high, cuts)];
    const near = cuts.slice(from, to).filter((cut) => cut.y > (lines.at(-1)?.y ?? -Infinity));
    const found = near.reduce<Cut | undefined>((best, cut) => (best && worth(best) <= worth(cut) ? best : cut), undefined);
    if (found) lines.push(found);
  }
  return lines;
}

/** The scale at which columns between these lines fit into the window. */
function scaleOf(rows: readonly Row[], whole: Span, lines: readonly Cut[], room: Size): number {
  const widths = columnsOf(rows, lines).reduce((sum, { left, right }) => sum + right - left, 0);
  const gutters = lines.reduce((sum, { crossing }) => sum + gutterOf(crossing), 0);
  const ends = [whole.top, ...lines.map((line) => line.y), whole.top + whole.height];
  const highest = ends.reduce((most, y, i) => Math.max(most, y - (ends[i - 1] ?? y)), 1);
  return Math.min(room.width / (widths + gutters), room.height / (highest + (lines.length > 0 ? DROP : 0)));
}

function gutterOf(crossing: number): number {
  return GUTTER + LANE * crossing;
}

/** The left and right end of every column. */
function columnsOf(rows: readonly Row[], lines: readonly Cut[]): Row[] {
  const ends = [0, ...lines.map((line) => line.row), rows.length];
  return ends.slice(1).map((end, i) => {
    const column = { left: Infinity, right: -Infinity };
    for (let row = ends[i] ?? 0; row < end; row++) {
      column.left = Math.min(column.left, rows[row]?.left ?? Infinity);
      column.right = Math.max(column.right, rows[row]?.right ?? -Infinity);
    }
    return column;
  });
}

/** How far a column is moved, and its right end after that. */
interface Move {
  dx: number;
  dy: number;
  right: number;
}

/** The layout with a column between any two lines, side by side. */
function* inColumns(laid: LayoutResult, rows: readonly Row[], lines: readonly Cut[], whole: Span): LongWork<Wrapped> {
  const columns = columnsOf(rows, lines);
  const moves: Move[] = [];
  let x = 0;
  columns.forEach(({ left, right }, i) => {
    moves.push({ dx: x - left, dy: -(lines[i - 1]?.y ?? whole.top), right: x + right - left });
    x += right - left + gutterOf(lines[i]?.crossing ?? 0);
  });
  const moved = (from: Float64Array): Float64Array => {
    const to = from.slice();
    for (let i = 0; i < to.length; i += 2) {
      const move = moves[columnAt(from[i + 1] ?? 0, lines)];
      if (move && !Number.isNaN(from[i])) to.set([(from[i] ?? 0) + move.dx, (from[i + 1] ?? 0) + move.dy], i);
    }
    return to;
  };
  const [centres, labels] = [moved(laid.centres), moved(laid.labels)];
  yield;
  return { layout: { centres, labels, ...(yield* movedEdges(laid, lines, moves)) }, ends: moves.slice(0, -1).map((move) => move.right) };
}

/** The edges in columns. One that crosses a line goes down to it, through the gap, and up to the head of the next column. */
function* movedEdges({ points, offsets }: LayoutResult, lines: readonly Cut[], moves: readonly Move[]): LongWork<Pick<LayoutResult, "points" | "offsets">> {
  const [made, starts]: [number[], number[]] = [[], [0]];
  const lanes = lines.map(() => 0);
  const detour = (column: number, next: number, x: number): void => {
    const [from, to, line] = [moves[column], moves[next], lines[column]];
    if (!from || !to || !line) return;
    const lane = LANE * (lanes[column] ?? 0);
    lanes[column] = (lanes[column] ?? 0) + 1;
    const [low, between] = [line.y + from.dy + DROP + lane, from.right + GUTTER / 2 + lane];
    made.push(made[made.length - 2] ?? 0, low, between, low, between, -lane, x + to.dx, -lane);
  };
  for (const [edge, after] of offsets.subarray(1).entries()) {
    if (edge % EDGES_AT_ONCE === EDGES_AT_ONCE - 1) yield;
    const first = offsets[edge] ?? 0;
    let column = columnAt(points[first + 1] ?? 0, lines);
    for (let i = first; i < after; i += 2) {
      const [x, y] = [points[i] ?? 0, points[i + 1] ?? 0];
      const next = Math.max(column, columnAt(y, lines));
      if (next > column) detour(column, next, x);
      made.push(x + (moves[next]?.dx ?? 0), y + (moves[next]?.dy ?? 0));
      column = next;
    }
    starts.push(made.length);
  }
  return { points: Float64Array.from(made), offsets: Uint32Array.from(starts) };
}
