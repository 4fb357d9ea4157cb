// Draws a graph of thousands of boxes that is seen from far, as an image that is written pixel by pixel.

import { padded, type Size } from "../../base/geometry";
import { holderOf, type PlacedBox, type Scene } from "../scene/scene";
import type { Hull } from "../scene/hulls";
import { headerColour, isPainted, outlinesOf } from "./boxes";
import type { Detail } from "./detail";
import type { Drawing } from "./drawing";
import { edgeWidth } from "./edges";
import { BLOCK_SCALE, pathOf, PLAIN_SCALE } from "./hulls";
import { PAD } from "./pads";
import { Coverage, Pixels } from "./pixels";
import { hatch, tinter } from "./tints";

/** So many boxes in view are drawn one by one, with smooth edges. */
const FEW = 600;

/** Draw hulls, pads, edges, boxes and their outlines on the whole canvas, all but the marks of groups. Returns false, and draws nothing, where
 * the graph is not seen from far or has few boxes in view. */
export function drawFar(drawing: Drawing, hulls: readonly Hull[], detail: Detail): boolean {
  const { context, frame, area } = drawing;
  if (frame.camera.k >= BLOCK_SCALE || !(context instanceof CanvasRenderingContext2D)) return false;
  const boxes = frame.scene.boxesIn(area);
  if (boxes.length <= FEW) return false;
  const pixels = pixelsOf(context.canvas);
  pixels.begin(drawing.projection, frame.theme.background);
  writeHulls(pixels, drawing, hulls, detail);
  writePads(pixels, drawing, boxes, detail);
  writeEdges(pixels, drawing, detail);
  for (const box of boxes) if (!isPainted(drawing, box)) pixels.fill(headerColour(box, frame), box, detail.boxes);
  writeOutlines(pixels, drawing);
  context.putImageData(new ImageData(pixels.bytes, pixels.size.width), 0, 0);
  drawing.toGraph();
  if (frame.camera.k >= PLAIN_SCALE) drawHatches(drawing, hulls, boxes);
  return true;
}

function writeHulls(pixels: Pixels, { frame }: Drawing, hulls: readonly Hull[], detail: Detail): void {
  const tint = tinter(frame.theme, detail);
  for (const hull of hulls) {
    const { node } = frame.paint(hull);
    const isSelected = hull.partition.id === frame.selectedPartition;
    if (isSelected) for (const rect of hull.rects) pixels.fill(frame.theme.select, rect, 1, 1);
    if (!node && !isSelected) continue;
    const colour = node ? tint(node) : frame.theme.background;
    for (const rect of hull.rects) pixels.fill(colour, rect);
  }
}

function writePads(pixels: Pixels, { frame }: Drawing, boxes: readonly PlacedBox[], detail: Detail): void {
  if (frame.pads.size === 0) return;
  const tint = tinter(frame.theme, detail);
  for (const box of boxes) {
    const paint = frame.pads.get(box.box.id);
    if (paint) pixels.fill(tint(paint), padded(box, PAD));
  }
}

function writeEdges(pixels: Pixels, drawing: Drawing, detail: Detail): void {
  const { frame } = drawing;
  if (detail.edges === 0) return;
  const width = edgeWidth(frame.camera.k) * drawing.projection.scale;
  pixels.draw(coverageOf(drawing, pixels.size, width), frame.theme.edge, detail.edges);
  if (frame.selected.size === 0) return;
  const lit = new Coverage(pixels.size, drawing.projection);
  for (const id of frame.selected) {
    for (const { points } of [...(frame.scene.into[id] ?? []), ...(frame.scene.out[id] ?? [])]) lit.add(points, 1.5 * width);
  }
  pixels.draw(lit, frame.theme.select, detail.edges);
}

const drawnEdges = new WeakMap<Scene, Coverage>();

/** The coverage of the edges in view: that of the last frame where the graph is the same and did not move. */
function coverageOf({ frame: { scene }, area, projection }: Drawing, size: Size, width: number): Coverage {
  const last = drawnEdges.get(scene);
  if (last && isEqual(last, { size, projection })) return last;
  const coverage = new Coverage(size, projection);
  for (const { points } of scene.edgesIn(area)) coverage.add(points, width);
  drawnEdges.set(scene, coverage);
  return coverage;
}

function isEqual(a: Pick<Coverage, "size" | "projection">, b: Pick<Coverage, "size" | "projection">): boolean {
  return a.size.width === b.size.width && a.size.height === b.size.height && a.projection.scale === b.projection.scale && a.projection.left === b.projection.left && a.projection.top === b.projection.top;
}

function writeOutlines(pixels: Pixels, { frame, projection }: Drawing): void {
  const ratio = projection.scale / frame.camera.k;
  for (const { ids, colour, line, gap } of outlinesOf(frame)) {
    for (const id of ids) {
      const box = holderOf(frame.scene, id);
      if (box) pixels.frame(colour, box, Math.round((gap - line / 2) * ratio), Math.round(line * ratio));
    }
  }
}

/** Draw the patterns of hatched hulls and pads. */
function drawHatches({ context, frame }: Drawing, hulls: readonly Hull[], boxes: readonly PlacedBox[]): void {
  context.fillStyle = hatch(context, frame.theme, frame.camera.k);
  for (const hull of hulls) if (frame.paint(hull).node?.isHatched) context.fill(pathOf(hull));
  for (const box of boxes) {
    const { x, y, width, height } = padded(box, PAD);
    if (frame.pads.get(box.box.id)?.isHatched) context.fillRect(x, y, width, height);
  }
}

let kept: Pixels | undefined;

/** An image of this size: that of the last frame where the size is the same. */
function pixelsOf({ width, height }: Size): Pixels {
  if (kept?.size.width !== width || kept.size.height !== height) kept = new Pixels({ width, height });
  return kept;
}
