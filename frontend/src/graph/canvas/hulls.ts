// Draws the hulls of the partitions.

import type { NodePaint } from "../../data/overlays/colours";
import { type Hull, HULL_PAD } from "../scene/hulls";
import { type Context2d, outlinePath } from "./context_2d";
import type { Detail } from "./detail";
import type { Drawing } from "./drawing";
import { course } from "./edges";
import type { Frame } from "./frame";
import { hatch, tinter } from "./tints";

const RADIUS = 8;

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
    } else outlined.push(hull);
  }
  for (const hull of outlined) {
    const { node } = frame.paint(hull);
    const isSelected = hull.partition.id === frame.selectedPartition;
    const border = isSelected ? frame.theme.select : (node?.fill ?? frame.theme.edge);
    const line = (isSelected ? 2.5 : 1.5) / Math.max(frame.camera.k, 0.3);
    const dash = frame.changed.has(hull.partition.id) ? [6, 4] : [];
    fillHull(context, hull, node ? tint(node) : frame.theme.background, border, line, dash);
    if (node?.isHatched) {
      context.fillStyle = hatch(context, frame.theme, frame.camera.k);
      context.fill(pathOf(hull));
    }
  }
}

/** True if nothing of a hull can be seen but its colour. */
function isBlock({ camera, changed, selectedPartition }: Frame, { partition }: Hull, paint: NodePaint): boolean {
  if (camera.k >= BLOCK_SCALE || partition.id === selectedPartition) return false;
  return camera.k < PLAIN_SCALE || !(paint.isHatched || changed.has(partition.id));
}

/** Fill and stroke a hull of one rectangle; paint one of many twice: wider in the colour of the border, then in that of the fill. */
function fillHull(context: Context2d, hull: Hull, fill: string, border: string, line: number, dash: number[]): void {
  const path = pathOf(hull);
  context.lineJoin = "round";
  context.lineCap = "round";
  if (hull.isOnePiece) {
    context.fillStyle = fill;
    context.fill(path);
    context.strokeStyle = border;
    context.lineWidth = line;
    context.setLineDash(dash);
    context.stroke(path);
    context.setLineDash([]);
    return;
  }
  const ways = waysOf(hull);
  for (const [colour, extra] of [[border, line], [fill, 0]] as const) {
    context.strokeStyle = colour;
    context.fillStyle = colour;
    context.lineWidth = HULL_PAD * 2 + 2 * extra;
    context.stroke(ways);
    if (extra > 0) {
      context.lineWidth = 2 * extra;
      context.stroke(path);
    }
    context.fill(path);
  }
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

const ways = new WeakMap<Hull, Path2D>();

function waysOf(hull: Hull): Path2D {
  let path = ways.get(hull);
  if (!path) {
    path = outlinePath((path) => hull.courses.forEach((points) => course(path, points, 0)));
    ways.set(hull, path);
  }
  return path;
}
