// Draws pads: the paint of single nodes around their boxes, where the overlay does not paint the partition as a whole.

import type { Detail } from "./detail";
import type { Drawing } from "./drawing";
import { hatch, tinter } from "./tints";

/** How far a pad reaches around its box. */
export const PAD = 6;
const RADIUS = 7;

/** Draw the pads in view. */
export function drawPads(drawing: Drawing, detail: Detail): void {
  const { frame, context, area } = drawing;
  if (frame.pads.size === 0) return;
  const tint = tinter(frame.theme, detail);
  const lines = hatch(context, frame.theme, frame.camera.k);
  context.lineWidth = 1.5 / Math.max(frame.camera.k, 0.3);
  for (const { box, x, y, width, height } of frame.scene.boxesIn(area)) {
    const paint = frame.pads.get(box.id);
    if (!paint) continue;
    context.beginPath();
    context.roundRect(x - PAD, y - PAD, width + 2 * PAD, height + 2 * PAD, RADIUS);
    context.fillStyle = tint(paint);
    context.fill();
    if (paint.isHatched) {
      context.fillStyle = lines;
      context.fill();
    }
    context.strokeStyle = paint.fill;
    context.stroke();
  }
}
