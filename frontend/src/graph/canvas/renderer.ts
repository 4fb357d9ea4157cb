// Draws a frame of the graph on a canvas, from back to front: the hulls of the partitions (here), then pads, edges, boxes, outlines and
// badges (a file each). Only what is in view is drawn.

import { type Size, touches } from "../../base/geometry";
import type { NodePaint } from "../../data/overlays/colours";
import { seen } from "../scene/camera";
import { type Hull, HULL_PAD } from "../scene/hulls";
import { drawBadges } from "./badges";
import { drawBoxes, drawOutlines } from "./boxes";
import { type Context2d, outlinePath } from "./context_2d";
import { type Detail, detailAt } from "./detail";
import type { Drawing } from "./drawing";
import { course, drawEdgeLabels, drawEdges } from "./edges";
import type { Frame, Renderer } from "./frame";
import { drawFrames, drawGroupMarks, drawGroupPads, drawTabs } from "./groups";
import { drawPads } from "./pads";
import { SolidRects } from "./solid_rects";
import { hatch, tinter } from "./tints";

export class CanvasRenderer implements Renderer {
  private readonly context: CanvasRenderingContext2D;
  private size: Size = { width: 0, height: 0 };
  private ratio = 1;
  private kept: HTMLCanvasElement | undefined;

  constructor(private readonly canvas: HTMLCanvasElement) {
    const context = canvas.getContext("2d", { alpha: false });
    if (!context) throw new Error("this browser gives no 2D canvas");
    this.context = context;
  }

  keep(): void {
    const copy = document.createElement("canvas");
    [copy.width, copy.height] = [this.canvas.width, this.canvas.height];
    copy.getContext("2d")?.drawImage(this.canvas, 0, 0);
    this.kept = copy;
  }

  resize(size: Size, pixelRatio: number): void {
    this.size = size;
    this.ratio = pixelRatio;
    this.canvas.width = Math.round(size.width * pixelRatio);
    this.canvas.height = Math.round(size.height * pixelRatio);
  }

  draw(frame: Frame): void {
    drawFrame(this.context, frame, this.size, this.ratio);
    this.drawKept(frame.fade);
  }

  /** Draw the kept picture over the new one, with the opacity that is left. */
  private drawKept(fade: number): void {
    if (fade === 0) this.kept = undefined;
    if (!this.kept) return;
    const { context, ratio } = this;
    context.setTransform(ratio, 0, 0, ratio, 0, 0);
    context.globalAlpha = fade;
    context.drawImage(this.kept, 0, 0, this.size.width, this.size.height);
    context.globalAlpha = 1;
  }
}

/** Draw a frame of this size with a context; `ratio` of its pixels are one pixel of the screen. */
export function drawFrame(context: Context2d, frame: Frame, size: Size, ratio: number): void {
  const { k, x, y } = frame.camera;
  const projection = { scale: k * ratio, left: x * k * ratio, top: y * k * ratio };
  const drawing: Drawing = {
    context,
    frame,
    area: seen(frame.camera, size),
    screen: size,
    projection,
    toGraph: () => context.setTransform(projection.scale, 0, 0, projection.scale, -projection.left, -projection.top),
    toScreen: () => context.setTransform(ratio, 0, 0, ratio, 0, 0),
  };
  drawing.toScreen();
  context.globalAlpha = 1;
  context.fillStyle = frame.theme.background;
  context.fillRect(0, 0, size.width, size.height);
  const detail = detailAt(k);
  const hulls = frame.hulls.filter((hull) => touches(hull.bounds, drawing.area));
  drawing.toGraph();
  drawFrames(drawing, detail);
  drawHulls(drawing, hulls, detail);
  drawPads(drawing, detail);
  drawGroupPads(drawing, detail);
  if (detail.edges > 0) {
    const edges = frame.scene.edgesIn(drawing.area);
    drawEdges(drawing, edges, detail);
    drawEdgeLabels(drawing, edges, detail);
  }
  if (detail.boxes > 0) {
    const boxes = frame.scene.boxesIn(drawing.area);
    drawBoxes(drawing, boxes, detail);
    drawGroupMarks(drawing, boxes, detail);
  }
  drawTabs(drawing, detail);
  drawOutlines(drawing);
  drawBadges(drawing, hulls, detail);
}

const RADIUS = 8;

const paths = new WeakMap<Hull, Path2D>();

/** Below this scale the round corners, the border and the lines between the pieces of a hull are thinner than a pixel. */
const BLOCK_SCALE = 0.12;
/** Below this scale hatching and dashes cannot be seen either. */
const PLAIN_SCALE = 0.045;

/** Draw the hulls, as tints when zoomed in and solid when zoomed out, dashed where the last decision changed the partition. A hull without
 * one paint for all of its nodes is only an outline. */
function drawHulls(drawing: Drawing, hulls: readonly Hull[], detail: Detail): void {
  const { frame, context } = drawing;
  const tint = tinter(frame.theme, detail);
  const blocks = new SolidRects();
  const outlined: Hull[] = [];
  for (const hull of hulls) {
    const { node } = frame.paint(hull);
    if (node && isBlock(frame, hull, node)) for (const rect of hull.rects) blocks.add(tint(node), rect);
    else outlined.push(hull);
  }
  blocks.fill(context, drawing.projection);
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

function pathOf(hull: Hull): Path2D {
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
