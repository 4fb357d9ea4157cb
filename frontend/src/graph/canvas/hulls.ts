// Draws the hulls of the partitions: a soft ground behind their nodes, a piece in each column of the graph.

import { mix } from "../../base/colour";
import type { NodePaint } from "../../data/overlays/colours";
import type { Hull } from "../scene/hulls";
import { type Context2d, outlinePath } from "./context_2d";
import type { Detail } from "./detail";
import type { Drawing } from "./drawing";
import { course } from "./edges";
import type { Frame } from "./frame";
import { hatch, tinter } from "./tints";

const RADIUS = 8;
/** How wide the line between two pieces of a hull is. */
const CONNECTOR = 3;
/** How wide the band of a location is. */
const BAND = 4;
/** How much of the target's colour is in the border of a hull. */
const BORDER_TINT = 0.45;

const paths = new WeakMap<Hull, Path2D>();

/** Below this scale the round corners, the border and the lines between the pieces of a hull are thinner than a pixel. */
export const BLOCK_SCALE = 0.12;
/** Below this scale hatching and dashes cannot be seen either. */
export const PLAIN_SCALE = 0.045;

/** Draw the hulls, as tints when zoomed in and solid when zoomed out, dashed where the last decision changed the partition. A hull without
 * one paint for all of its nodes is only an outline. */
export function drawHulls(drawing: Drawing, hulls: readonly Hull[], detail: Detail): void {
  const { frame, context } = drawing;
  const tint = tinter(frame.theme, detail);
  const outlined: Hull[] = [];
  for (const hull of hulls) {
    const { node } = frame.paint(hull);
    if (node && isBlock(frame, hull, node)) {
      context.fillStyle = tint(node);
      for (const { x, y, width, height } of hull.rects) context.fillRect(x, y, width, height);
      drawBand(drawing, hull);
    } else outlined.push(hull);
  }
  for (const hull of outlined) {
    const { node } = frame.paint(hull);
    const isSelected = hull.partition.id === frame.selectedPartition;
    const isChanged = frame.changed.has(hull.partition.id);
    const own = node?.fill ?? frame.theme.edge;
    const border = isSelected ? frame.theme.select : isChanged ? own : mix(own, frame.theme.background, BORDER_TINT);
    const line = (isSelected ? 2.5 : isChanged ? 1.5 : 1) / Math.max(frame.camera.k, 0.3);
    const dash = isChanged ? [6, 4] : [];
    fillHull(context, hull, node ? tint(node) : frame.theme.background, border, line, dash);
    if (node?.isHatched) {
      context.fillStyle = hatch(context, frame.theme, frame.camera.k);
      context.fill(pathOf(hull));
    }
    drawBand(drawing, hull);
  }
}

/** Draw the colour of the location along the left side of a hull. */
function drawBand({ frame, context }: Drawing, hull: Hull): void {
  const { band } = frame.paint(hull);
  if (band === null) return;
  context.fillStyle = band;
  const width = Math.min(BAND / Math.max(frame.camera.k, 0.3), 3 * BAND);
  for (const { x, y, height } of hull.rects) context.fillRect(x, y, width, height);
}

/** True if nothing of a hull can be seen but its colour. */
function isBlock({ camera, changed, selectedPartition }: Frame, { partition }: Hull, paint: NodePaint): boolean {
  if (camera.k >= BLOCK_SCALE || partition.id === selectedPartition) return false;
  return camera.k < PLAIN_SCALE || !(paint.isHatched || changed.has(partition.id));
}

/** Fill the rectangles of a hull with one border around all of them; a line leads from piece to piece. */
function fillHull(context: Context2d, hull: Hull, fill: string, border: string, line: number, dash: number[]): void {
  const path = pathOf(hull);
  context.lineJoin = "round";
  context.lineCap = "round";
  context.strokeStyle = border;
  context.setLineDash(dash);
  if (hull.connectors.length > 0) {
    context.lineWidth = Math.max(CONNECTOR, line);
    context.stroke(connectorsOf(hull));
  }
  context.lineWidth = 2 * line;
  context.stroke(path);
  context.setLineDash([]);
  // Over the inner halves of the borders, and over those of rectangles that overlap.
  context.fillStyle = fill;
  context.fill(path);
}

/** The outline of a hull. */
export function pathOf(hull: Hull): Path2D {
  let path = paths.get(hull);
  if (!path) {
    path = outlinePath((path) => hull.rects.forEach(({ x, y, width, height }) => path.roundRect(x, y, width, height, RADIUS)));
    paths.set(hull, path);
  }
  return path;
}

const connectorPaths = new WeakMap<Hull, Path2D>();

function connectorsOf(hull: Hull): Path2D {
  let path = connectorPaths.get(hull);
  if (!path) {
    path = outlinePath((path) => hull.connectors.forEach((points) => course(path, points, 0)));
    connectorPaths.set(hull, path);
  }
  return path;
}
