// Draws groups: the frames and tabs of unfolded ones, and on the box of a folded one its triangle and the bar of its paints.

import { padded, type Rect, touches } from "../../base/geometry";
import { BAR_HEIGHT, HANDLE_WIDTH, SIDE_PAD, TITLE_FONT, TITLE_HEIGHT } from "../layout/measure";
import type { Handle } from "../scene/handles";
import { type PlacedBox } from "../scene/scene";
import type { Context2d } from "./context_2d";
import type { Detail } from "./detail";
import type { Drawing } from "./drawing";
import type { BarShare } from "./frame";
import { BLOCK_SCALE } from "./hulls";
import { hatch, tinter } from "./tints";

const RADIUS = 10;
const PAD = 6;
const PAD_RADIUS = 7;
const BAR = 5;
const TRIANGLE = 4;

/** Draw the frames of the unfolded groups in view. */
export function drawFrames(drawing: Drawing, detail: Detail): void {
  const { context, frame, area } = drawing;
  context.strokeStyle = frame.theme.muted;
  context.lineWidth = 1 / Math.max(frame.camera.k, 0.3);
  context.globalAlpha = 0.6 * detail.edges;
  for (const { bounds } of frame.groups.frames) {
    if (!touches(bounds, area)) continue;
    context.beginPath();
    context.roundRect(bounds.x, bounds.y, bounds.width, bounds.height, RADIUS);
    context.stroke();
  }
  context.globalAlpha = 1;
}

/** Draw pads behind folded groups, in the paints of their nodes by share. Zoomed out, nothing else is seen of a group. */
export function drawGroupPads(drawing: Drawing, detail: Detail): void {
  const { context, frame, area } = drawing;
  if (frame.groups.bars.size === 0) return;
  const tint = tinter(frame.theme, detail);
  const lines = hatch(context, frame.theme, frame.camera.k);
  const isRound = frame.camera.k >= BLOCK_SCALE;
  for (const placed of frame.scene.boxesIn(area)) {
    const shares = frame.groups.bars.get(placed.box.id);
    if (!shares) continue;
    const rect = padded(placed, PAD);
    if (isRound) {
      context.save();
      context.beginPath();
      context.roundRect(rect.x, rect.y, rect.width, rect.height, PAD_RADIUS);
      context.clip();
    }
    fillShares(context, rect, shares, (share) => [share.paint ? tint(share.paint) : frame.theme.background, ...(share.paint?.isHatched ? [lines] : [])]);
    if (isRound) context.restore();
  }
}

/** Draw the marks on the boxes of folded groups: the triangle and the bar. */
export function drawGroupMarks(drawing: Drawing, boxes: readonly PlacedBox[], detail: Detail): void {
  const { context, frame } = drawing;
  if (frame.camera.k < BLOCK_SCALE) return; // they are smaller than a pixel
  context.globalAlpha = detail.boxes;
  for (const placed of boxes) {
    if (placed.box.kind !== "group") continue;
    const shares = frame.groups.bars.get(placed.box.id);
    const bar = { x: placed.x + SIDE_PAD, y: placed.y + placed.height - BAR_HEIGHT, width: placed.width - 2 * SIDE_PAD, height: BAR };
    if (shares) fillShares(context, bar, shares, (share) => [share.paint?.fill ?? frame.theme.edge]);
    context.fillStyle = "#ffffff";
    triangle(context, placed.x + SIDE_PAD + TRIANGLE, placed.y + TITLE_HEIGHT / 2, true);
  }
  context.globalAlpha = 1;
}

/** Draw the tabs that fold the unfolded groups. */
export function drawTabs(drawing: Drawing, detail: Detail): void {
  const { context, frame, area } = drawing;
  if (detail.titles === 0) return;
  context.globalAlpha = detail.titles;
  context.font = TITLE_FONT;
  context.textAlign = "left";
  context.textBaseline = "middle";
  for (const handle of frame.groups.handles) if (!handle.isFolded && touches(handle.rect, area)) drawTab(drawing, handle);
  context.globalAlpha = 1;
}

function drawTab(drawing: Drawing, { rect, title }: Handle): void {
  const { context, frame } = drawing;
  context.fillStyle = frame.theme.background;
  context.strokeStyle = frame.theme.muted;
  context.lineWidth = 1;
  context.beginPath();
  context.roundRect(rect.x, rect.y, rect.width, rect.height, 5);
  context.fill();
  context.stroke();
  context.fillStyle = frame.theme.text;
  triangle(context, rect.x + SIDE_PAD + TRIANGLE, rect.y + TITLE_HEIGHT / 2, false);
  context.fillText(title, rect.x + SIDE_PAD + HANDLE_WIDTH, rect.y + TITLE_HEIGHT / 2 + 0.5);
}

function triangle(context: Context2d, x: number, y: number, isFolded: boolean): void {
  const [a, b] = [TRIANGLE, TRIANGLE * 0.75];
  context.beginPath();
  const corners: [number, number][] = isFolded ? [[-b, -a], [b, 0], [-b, a]] : [[-a, -b], [a, -b], [0, b]];
  for (const [dx, dy] of corners) context.lineTo(x + dx, y + dy);
  context.closePath();
  context.fill();
}

function fillShares(context: Context2d, rect: Rect, shares: readonly BarShare[], stylesOf: (share: BarShare) => (string | CanvasPattern)[]): void {
  let left = rect.x;
  for (const share of shares) {
    const width = share.fraction * rect.width;
    for (const style of stylesOf(share)) {
      context.fillStyle = style;
      context.fillRect(left, rect.y, width, rect.height);
    }
    left += width;
  }
}
