// Computes the position of each box and the course of each edge, from sizes and edges alone. The graph is laid out segment by segment
// with dagre; segments are stacked at their necks, and equal segments are laid out once.

import { Graph, layout as dagreLayout } from "@dagrejs/dagre";
import { segmentsOf, type Segment } from "./segments";

export interface LayoutRequest {
  /** Per box: width, height; the boxes in a topological order. */
  boxes: Float64Array;
  /** Per edge: width and height of its label, 0 for none. */
  labels: Float64Array;
  /** Per edge: from, to, as indices of that order. Stubs are left out. */
  edges: Int32Array;
}

export interface LayoutResult {
  /** Per box: x, y of its centre. */
  centres: Float64Array;
  /** x, y of the points of all edges, one edge after another. */
  points: Float64Array;
  /** Per edge: where its points begin in `points`; one more entry at the end. */
  offsets: Uint32Array;
  /** Per edge: x, y of the centre of its label, NaN where it has none. */
  labels: Float64Array;
}

const NODE_GAP = 24;
const RANK_GAP = 36;
/** Labels are nearer to the producer, since the badge of a partition is above the reader. */
const LABEL_RISE = 8;
const EDGE_GAP = 12;

/** A segment laid out by itself, its upper neck at (0, 0). */
export interface Piece {
  /** x, y of each box, in order. */
  centres: number[];
  /** Per edge of the segment: points, then the label's centre. */
  edges: { points: number[]; label: [number, number] }[];
}

/** Segments that were laid out, by a key of everything that their layout depends on. */
export type Pieces = Map<string, Piece>;

/** Lay out a whole graph, with segments of earlier layouts from `known`. */
export function layout(request: LayoutRequest, known: Pieces = new Map()): LayoutResult {
  const { boxes, edges } = request;
  const segments = segmentsOf(boxes.length / 2, edges);
  const centres = new Float64Array(boxes.length);
  const runs: number[][] = new Array<number[]>(edges.length / 2).fill([]);
  const labels = new Float64Array(edges.length).fill(NaN);
  for (const segment of segments) {
    const piece = pieceOf(request, segment, segments.length, known);
    const neck = segment.first;
    const [dx, dy] = [centres[neck * 2] ?? 0, centres[neck * 2 + 1] ?? 0];
    for (let p = segment.first; p <= segment.last; p++) {
      const k = (p - segment.first) * 2;
      centres.set([(piece.centres[k] ?? 0) + dx, (piece.centres[k + 1] ?? 0) + dy], p * 2);
    }
    segment.edges.forEach((edge, i) => {
      const run = piece.edges[i];
      if (!run) return;
      runs[edge] = run.points.map((value, axis) => value + (axis % 2 === 0 ? dx : dy));
      labels.set([run.label[0] + dx, run.label[1] + dy], edge * 2);
    });
  }
  return { centres, labels, ...flat(runs) };
}

function flat(runs: number[][]): { points: Float64Array; offsets: Uint32Array } {
  const offsets = new Uint32Array(runs.length + 1);
  runs.forEach((run, i) => (offsets[i + 1] = (offsets[i] ?? 0) + run.length));
  const points = new Float64Array(offsets[runs.length] ?? 0);
  runs.forEach((run, i) => points.set(run, offsets[i]));
  return { points, offsets };
}

/** The layout of one segment: from `known` where an equal segment was laid out before. */
function pieceOf(request: LayoutRequest, segment: Segment, segments: number, known: Pieces): Piece {
  const isFirst = segment.first === 0;
  const isLast = segment.last === request.boxes.length / 2 - 1;
  const sizes = [...request.boxes.subarray(segment.first * 2, (segment.last + 1) * 2)];
  const lines = segment.edges.map((e) => [
    (request.edges[e * 2] ?? 0) - segment.first,
    (request.edges[e * 2 + 1] ?? 0) - segment.first,
    request.labels[e * 2] ?? 0,
    request.labels[e * 2 + 1] ?? 0,
  ]);
  const key = `${isFirst}${isLast}|${sizes.join()}|${lines.join(";")}`;
  let piece = known.get(key);
  if (!piece) {
    piece = sizes.length <= 4 && lines.length <= 1 ? stacked(sizes, lines) : withDagre(sizes, lines, !isFirst, !isLast && segments > 1);
    known.set(key, piece);
  }
  return piece;
}

/** Lay out one box, or one above another. */
function stacked(sizes: number[], lines: number[][]): Piece {
  const [, topHeight = 0, , lowHeight = 0] = sizes;
  if (sizes.length < 4) return { centres: [0, 0], edges: [] };
  const label = lines[0];
  const gap = RANK_GAP + (label?.[3] ?? 0);
  const y = topHeight / 2 + gap + lowHeight / 2;
  const middle = topHeight / 2 + gap / 2;
  if (!label) return { centres: [0, 0, 0, y], edges: [] };
  const points = [0, topHeight / 2, 0, middle, 0, y - lowHeight / 2];
  const hasLabel = (label[2] ?? 0) > 0;
  return { centres: [0, 0, 0, y], edges: [{ points, label: hasLabel ? [4 + (label[2] ?? 0) / 2, middle - LABEL_RISE] : [NaN, NaN] }] };
}

/** Lay a segment out with dagre. With `pinTop` (`pinBottom`) no box may be above its upper (below its lower) neck. */
function withDagre(sizes: number[], lines: number[][], pinTop: boolean, pinBottom: boolean): Piece {
  const count = sizes.length / 2;
  const graph = new Graph({ multigraph: true });
  graph.setGraph({ nodesep: NODE_GAP, ranksep: RANK_GAP, edgesep: EDGE_GAP, rankdir: "tb", ranker: count > 600 ? "longest-path" : "network-simplex" });
  for (let i = 0; i < count; i++) graph.setNode(String(i), { width: sizes[i * 2] ?? 0, height: sizes[i * 2 + 1] ?? 0 });
  const reads = new Set<number>();
  const isRead = new Set<number>();
  lines.forEach(([from = 0, to = 0, width = 0, height = 0], i) => {
    graph.setEdge(String(from), String(to), { width, height, labelpos: "r", labeloffset: 4, weight: 1, minlen: 1 }, String(i));
    isRead.add(from);
    reads.add(to);
  });
  for (let i = 0; i < count; i++) {
    if (pinTop && i > 0 && !reads.has(i)) graph.setEdge("0", String(i), { weight: 0, minlen: 1, width: 0, height: 0 }, `top${i}`);
    if (pinBottom && i < count - 1 && !isRead.has(i)) graph.setEdge(String(i), String(count - 1), { weight: 0, minlen: 1, width: 0, height: 0 }, `low${i}`);
  }
  dagreLayout(graph);
  return readBack(graph, sizes, lines, pinBottom);
}

interface Placed {
  x: number;
  y: number;
}

/** Read dagre's positions. With `isStraight` the lower neck is right below the upper one: else a deep model would drift sideways. */
function readBack(graph: Graph, sizes: number[], lines: number[][], isStraight: boolean): Piece {
  const at = (i: number): Placed => graph.node(String(i)) as Placed;
  const { x: x0, y: y0 } = at(0);
  const centres: number[] = [];
  for (let i = 0; i < sizes.length / 2; i++) centres.push(at(i).x - x0, at(i).y - y0);
  if (isStraight) centres[centres.length - 2] = 0;
  const edges = lines.map(([from = 0, to = 0, width = 0], i) => {
    const edge = graph.edge(String(from), String(to), String(i)) as unknown as Placed & { points: Placed[] };
    const points = edge.points.flatMap((point) => [point.x - x0, point.y - y0]);
    const port = (box: number, towards: number, side: 1 | -1): [number, number] => {
      const reach = (sizes[box * 2] ?? 0) / 4;
      const x = centres[box * 2] ?? 0;
      return [x + Math.max(-reach, Math.min(reach, towards - x)), (centres[box * 2 + 1] ?? 0) + (side * (sizes[box * 2 + 1] ?? 0)) / 2];
    };
    const inner = points.slice(2, -2);
    points.splice(0, 2, ...port(from, inner[0] ?? centres[to * 2] ?? 0, 1));
    points.splice(-2, 2, ...port(to, inner[inner.length - 2] ?? centres[from * 2] ?? 0, -1));
    const label: [number, number] = width > 0 ? [edge.x - x0, edge.y - y0 - LABEL_RISE] : [NaN, NaN];
    return { points, label };
  });
  return { centres, edges };
}
