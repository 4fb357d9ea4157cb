// Partitions on the canvas: a tinted hull with a badge (letter and cost); from afar one box of the target's colour.

import type { Rect } from "../../base/geometry";
import { FONT } from "../layout/measure";
import { HULL_PAD, type Hull } from "../scene/hulls";
import { outline, type Brush } from "./brush";
import { ramp, type Detail } from "./detail";
import { course } from "./edges";
import type { HullPaint } from "./frame";
import type { Pen } from "./pen";
import { hatch, tinter } from "./tints";

const RADIUS = 8;

const paths = new WeakMap<Hull, Path2D>();

const BLOCK_SCALE = 0.045;

/** Draw the hulls: tints from near, solid from afar; one whose nodes the overlay does not paint alike is an outline alone. */
export function drawHulls(pen: Pen, hulls: readonly Hull[], detail: Detail): void {
  const { frame, context } = pen;
  const tint = tinter(frame.theme, detail);
  for (const hull of hulls) {
    const { node } = frame.paint(hull);
    const isSelected = hull.partition.id === frame.selectedPartition;
    const fill = node ? tint(node) : frame.theme.background;
    if (frame.camera.k < BLOCK_SCALE && !isSelected && node) {
      context.fillStyle = fill;
      for (const rect of hull.rects) context.fillRect(rect.x, rect.y, rect.width, rect.height);
      continue;
    }
    const border = isSelected ? frame.theme.select : (node?.fill ?? frame.theme.edge);
    const line = (isSelected ? 2.5 : 1.5) / Math.max(frame.camera.k, 0.3);
    const dash = frame.changed.has(hull.partition.id) ? [6, 4] : [];
    fillHull(context, hull, fill, border, line, dash);
    if (node?.isHatched) {
      context.fillStyle = hatch(context, frame.theme, frame.camera.k);
      context.fill(pathOf(hull));
    }
  }
}

/** A hull of one rectangle is filled and stroked; of many, it is painted fat in the border's colour, then inside in the fill's. */
function fillHull(context: Brush, hull: Hull, fill: string, border: string, line: number, dash: number[]): void {
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

function pathOf(hull: Hull): Path2D {
  let path = paths.get(hull);
  if (!path) {
    path = outline((pen) => hull.rects.forEach(({ x, y, width, height }) => pen.roundRect(x, y, width, height, RADIUS)));
    paths.set(hull, path);
  }
  return path;
}

const ways = new WeakMap<Hull, Path2D>();

function waysOf(hull: Hull): Path2D {
  let path = ways.get(hull);
  if (!path) {
    path = outline((pen) => hull.courses.forEach((points) => course(pen, points, 0)));
    ways.set(hull, path);
  }
  return path;
}

const BADGE_HEIGHT = 15;

/** Draw the badges: on the hull from near; from further away beside it, dearest first, as long as there is room. */
export function drawBadges(pen: Pen, hulls: readonly Hull[], detail: Detail): void {
  const { context, frame } = pen;
  pen.toScreen();
  context.textAlign = "left";
  context.textBaseline = "middle";
  const { k, x, y } = frame.camera;
  const scale = Math.max(0.72, Math.min(1.3, k));
  context.font = `bold ${(11 * scale).toFixed(1)}px ${FONT}`;
  const beside: { hull: Hull; box: Rect }[] = [];
  for (const hull of hulls) {
    const onScreen = (rect: Rect): Rect => ({ x: (rect.x - x) * k, y: (rect.y - y) * k, width: rect.width * k, height: rect.height * k });
    if (detail.hull < 0.5) drawOnHull(context, onScreen(hull.anchor), frame.paint(hull), scale);
    else beside.push({ hull, box: onScreen(hull.bounds) });
  }
  const alpha = ramp(detail.hull, 0.7, 0.95);
  if (alpha > 0) drawBeside(pen, beside, alpha);
}

/** A badge like a tab on the upper edge; the letter alone where the hull is narrow, none where it is tiny. */
function drawOnHull(context: Brush, box: Rect, paint: HullPaint, scale: number): void {
  const height = BADGE_HEIGHT * scale;
  if (box.height < height * 1.6 || box.width < 18) return;
  const text = paint.badgeText();
  const width = context.measureText(text).width + 10 * scale;
  const isWhole = box.width >= width * 0.6;
  context.fillStyle = paint.badge;
  context.beginPath();
  context.roundRect(box.x - 0.5, box.y - height + 1, isWhole ? width : 18 * scale, height, [4, 4, 0, 0]);
  context.fill();
  context.fillStyle = "#ffffff";
  context.fillText(isWhole ? text : text.slice(0, 1), box.x + 5 * scale - 0.5, box.y - height / 2 + 1.5);
}

const SIDE_FONT_PX = 10.5;
const SIDE_LINE_PX = 14;
const SIDE_MOST = 80;

/** Badges to the right of hulls that are too small to bear them: the dearest first, none over another or over a hull. */
function drawBeside(pen: Pen, small: { hull: Hull; box: Rect }[], alpha: number): void {
  const { context, frame } = pen;
  context.font = `bold ${SIDE_FONT_PX}px ${FONT}`;
  context.globalAlpha = alpha;
  const taken: number[] = [];
  small.sort((a, b) => (b.hull.partition.cost_s ?? 0) - (a.hull.partition.cost_s ?? 0));
  for (const { hull, box } of small) {
    if (box.y < -SIDE_LINE_PX || box.y > pen.screen.height) continue;
    if (taken.length >= SIDE_MOST) break;
    const y = box.y + box.height / 2 - SIDE_LINE_PX / 2;
    if (taken.some((other) => Math.abs(other - y) < SIDE_LINE_PX)) continue;
    taken.push(y);
    const { badge, badgeText } = frame.paint(hull);
    const text = badgeText();
    const x = rightAt(small, y) + 5;
    context.fillStyle = badge;
    context.beginPath();
    context.roundRect(x, y, context.measureText(text).width + 8, SIDE_LINE_PX, 3);
    context.fill();
    context.fillStyle = "#ffffff";
    context.fillText(text, x + 4, y + SIDE_LINE_PX / 2 + 0.5);
  }
  context.globalAlpha = 1;
}

/** The right end of all that a line of text at height `y` would cross. */
function rightAt(hulls: readonly { box: Rect }[], y: number): number {
  let right = -Infinity;
  for (const { box } of hulls) if (box.y < y + SIDE_LINE_PX && box.y + box.height > y) right = Math.max(right, box.x + box.width);
  return right;
}
