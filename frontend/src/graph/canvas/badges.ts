// Draws the badges of partitions, with the target's letter and the cost: on the hull when zoomed in, else beside it.

import type { Rect } from "../../base/geometry";
import { FONT_FAMILY } from "../layout/measure";
import type { Hull } from "../scene/hulls";
import type { Context2d } from "./context_2d";
import { ramp, type Detail } from "./detail";
import type { Drawing } from "./drawing";
import type { HullPaint } from "./frame";

const BADGE_HEIGHT = 15;

/** Draw the badges: on the hulls when zoomed in; else beside them, the most expensive first, as long as there is space. */
export function drawBadges(drawing: Drawing, hulls: readonly Hull[], detail: Detail): void {
  const { context, frame } = drawing;
  drawing.toScreen();
  context.textAlign = "left";
  context.textBaseline = "middle";
  const { k, x, y } = frame.camera;
  const scale = Math.max(0.72, Math.min(1.3, k));
  context.font = `bold ${(11 * scale).toFixed(1)}px ${FONT_FAMILY}`;
  const beside: { hull: Hull; box: Rect }[] = [];
  for (const hull of hulls) {
    const onScreen = (rect: Rect): Rect => ({ x: (rect.x - x) * k, y: (rect.y - y) * k, width: rect.width * k, height: rect.height * k });
    if (detail.hull < 0.5) drawOnHull(context, onScreen(hull.anchor), frame.paint(hull), scale);
    else beside.push({ hull, box: onScreen(hull.bounds) });
  }
  const alpha = ramp(detail.hull, 0.7, 0.95);
  if (alpha > 0) drawBeside(drawing, beside, alpha);
}

/** How far from a side of the screen a badge stays. */
const INSET_PX = 4;

/** Draw a badge as a tab on the upper edge of its hull, as far left as can be seen: the letter alone on a narrow hull, nothing on a tiny one. */
function drawOnHull(context: Context2d, box: Rect, paint: HullPaint, scale: number): void {
  const height = BADGE_HEIGHT * scale;
  if (box.height < height * 1.6 || box.width < 18) return;
  const text = paint.badgeText();
  const width = context.measureText(text).width + 10 * scale;
  const isWhole = box.width >= width * 0.6;
  const left = Math.max(box.x - 0.5, Math.min(INSET_PX, box.x + box.width - width));
  context.fillStyle = paint.badge;
  context.beginPath();
  context.roundRect(left, box.y - height + 1, isWhole ? width : 18 * scale, height, [4, 4, 0, 0]);
  context.fill();
  context.fillStyle = "#ffffff";
  context.fillText(isWhole ? text : text.slice(0, 1), left + 5 * scale, box.y - height / 2 + 1.5);
}

const SIDE_FONT_PX = 10.5;
const SIDE_LINE_PX = 14;
const SIDE_MOST = 80;

/** Draw badges to the right of small hulls, as far as the screen reaches: the most expensive first, none over another. */
function drawBeside(drawing: Drawing, small: { hull: Hull; box: Rect }[], alpha: number): void {
  const { context, frame } = drawing;
  context.font = `bold ${SIDE_FONT_PX}px ${FONT_FAMILY}`;
  context.globalAlpha = alpha;
  const taken: number[] = [];
  small.sort((a, b) => (b.hull.partition.cost_s ?? 0) - (a.hull.partition.cost_s ?? 0));
  for (const { hull, box } of small) {
    if (box.y < -SIDE_LINE_PX || box.y > drawing.screen.height) continue;
    if (taken.length >= SIDE_MOST) break;
    const y = box.y + box.height / 2 - SIDE_LINE_PX / 2;
    if (taken.some((other) => Math.abs(other - y) < SIDE_LINE_PX)) continue;
    taken.push(y);
    const { badge, badgeText } = frame.paint(hull);
    const text = badgeText();
    const width = context.measureText(text).width + 8;
    const x = Math.min(rightAt(small, y) + 5, drawing.screen.width - width - INSET_PX);
    context.fillStyle = badge;
    context.beginPath();
    context.roundRect(x, y, width, SIDE_LINE_PX, 3);
    context.fill();
    context.fillStyle = "#ffffff";
    context.fillText(text, x + 4, y + SIDE_LINE_PX / 2 + 0.5);
  }
  context.globalAlpha = 1;
}

/** The right end of all hulls that a line of text at height `y` would cross. */
function rightAt(hulls: readonly { box: Rect }[], y: number): number {
  let right = -Infinity;
  for (const { box } of hulls) if (box.y < y + SIDE_LINE_PX && box.y + box.height > y) right = Math.max(right, box.x + box.width);
  return right;
}
