// Draws edges: curves with arrowheads and the shape of the tensor beside them, and stubs in place of edges that would run too far.

import type { Point } from "../../base/geometry";
import { printable } from "../../base/printable";
import { LABEL_FONT } from "../layout/measure";
import type { PlacedEdge } from "../scene/scene";
import type { Context2d, PathContext } from "./context_2d";
import type { Detail } from "./detail";
import type { Drawing } from "./drawing";

const ARROW = 5;
const STUB = 16;

/** Draw edges, those of the selected boxes in the colour of the selection, and dashed ones where a tensor is copied to another location. */
export function drawEdges(drawing: Drawing, edges: readonly PlacedEdge[], detail: Detail): void {
  const { context, frame } = drawing;
  const { k } = frame.camera;
  const isNear = k > 0.18;
  const [plain, copied, lit, stubs]: [PlacedEdge[], PlacedEdge[], PlacedEdge[], PlacedEdge[]] = [[], [], [], []];
  for (const edge of edges) {
    if (edge.edge.isStub) stubs.push(edge);
    else if (frame.selected.has(edge.edge.from) || frame.selected.has(edge.edge.to)) lit.push(edge);
    else if (frame.crossings.get(edge.edge)?.isCopied) copied.push(edge);
    else plain.push(edge);
  }
  context.globalAlpha = detail.edges;
  strokeAll(context, plain, frame.theme.edge, edgeWidth(k), isNear);
  context.setLineDash([6, 3]);
  strokeAll(context, copied, frame.theme.text, Math.max(1.8, 1.4 / k), isNear);
  context.setLineDash([]);
  strokeAll(context, lit, frame.theme.select, Math.max(1.6, 1.2 / k), isNear);
  if (isNear) drawStubs(drawing, stubs, detail);
  context.globalAlpha = 1;
}

/** The width of an edge at scale `k`, in graph pixels: on the screen it is never much thinner than a pixel. */
export function edgeWidth(k: number): number {
  return Math.max(1, 0.8 / k);
}

function strokeAll(context: Context2d, edges: readonly PlacedEdge[], colour: string, width: number, isNear: boolean): void {
  if (edges.length === 0) return;
  context.strokeStyle = colour;
  context.fillStyle = colour;
  context.lineWidth = width;
  context.beginPath();
  for (const edge of edges) course(context, edge.points, isNear ? ARROW : 0);
  context.stroke();
  if (!isNear) return;
  context.beginPath();
  for (const { points } of edges) arrow(context, points[points.length - 2] ?? 0, points[points.length - 1] ?? 0);
  context.fill();
}

/** Draw the curve through an edge's points, vertical at every point, and `short` pixels shorter for the arrowhead. */
export function course(context: PathContext, points: Float64Array, short: number): void {
  let [x, y] = [points[0] ?? 0, points[1] ?? 0];
  context.moveTo(x, y);
  for (let i = 2; i < points.length; i += 2) {
    const isLast = i === points.length - 2;
    const nextX = points[i] ?? 0;
    const nextY = (points[i + 1] ?? 0) - (isLast ? short : 0);
    if (Math.abs(nextX - x) < 0.5) {
      context.lineTo(nextX, nextY);
    } else {
      const middle = (y + nextY) / 2;
      context.bezierCurveTo(x, middle, nextX, middle, nextX, nextY);
    }
    [x, y] = [nextX, nextY];
  }
}

function arrow(context: Context2d, x: number, y: number): void {
  context.moveTo(x, y);
  context.lineTo(x - ARROW * 0.7, y - ARROW * 1.3);
  context.lineTo(x + ARROW * 0.7, y - ARROW * 1.3);
  context.closePath();
}

/** Draw stubs: a short arrow at the reader, with the name of the producer. */
function drawStubs(drawing: Drawing, stubs: readonly PlacedEdge[], detail: Detail): void {
  const { context, frame } = drawing;
  const at = (edge: PlacedEdge): [number, number] => {
    const box = frame.scene.boxes[edge.edge.to];
    return box ? [box.x + box.width - 12, box.y] : [0, 0];
  };
  context.strokeStyle = frame.theme.muted;
  context.fillStyle = frame.theme.muted;
  context.lineWidth = 1;
  context.setLineDash([2, 2]);
  context.beginPath();
  for (const stub of stubs) {
    const [x, y] = at(stub);
    context.moveTo(x, y - STUB);
    context.lineTo(x, y - ARROW);
  }
  context.stroke();
  context.setLineDash([]);
  context.beginPath();
  for (const stub of stubs) arrow(context, ...at(stub));
  context.fill();
  if (detail.edgeLabels === 0) return;
  context.globalAlpha = detail.edgeLabels;
  context.font = LABEL_FONT;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const stub of stubs) {
    const [x, y] = at(stub);
    const from = frame.scene.graph.boxes[stub.edge.from];
    context.fillText(`from ${from?.kind === "node" ? `${from.title} ${printable(from.name)}` : (from?.title ?? "")}`, x + 5, y - STUB + 4);
  }
}

const LINE_PX = 11;

/** Draw the shapes of the tensors beside their edges, and below them what crosses between partitions. */
export function drawEdgeLabels(drawing: Drawing, edges: readonly PlacedEdge[], detail: Detail): void {
  const { context, frame } = drawing;
  if (detail.edgeLabels === 0) return;
  context.globalAlpha = detail.edgeLabels * 0.8;
  context.font = LABEL_FONT;
  context.textAlign = "center";
  context.textBaseline = "middle";
  context.fillStyle = frame.theme.text;
  for (const { edge, label } of edges) {
    if (!label) continue;
    const crossing = frame.crossings.get(edge);
    // Two lines that lead into a partition stand around the place of the one: its badge begins close below.
    const y = crossing && frame.scene.graph.boxes[edge.to]?.kind !== "output" ? label.y - LINE_PX / 2 : label.y;
    context.fillText(edge.label, label.x, y);
    if (crossing) fillBelow(context, crossing.label, edge.label, { x: label.x, y });
  }
  context.globalAlpha = 1;
}

/** A second line begins where the first one does: in the middle of it, a longer one would cross the edge. */
function fillBelow(context: Context2d, text: string, first: string, { x, y }: Point): void {
  context.textAlign = "left";
  context.fillText(text, x - context.measureText(first).width / 2, y + LINE_PX);
  context.textAlign = "center";
}
