// Draws a frame of the graph on a canvas, from back to front: the hulls of the partitions, then pads, edges, boxes, outlines and badges
// (a file each). Only what is in view is drawn; thousands of boxes seen from far are drawn as pixels.

import { type Size, touches } from "../../base/geometry";
import { seen } from "../scene/camera";
import type { Hull } from "../scene/hulls";
import { drawBadges } from "./badges";
import { drawBoxes, drawOutlines } from "./boxes";
import type { Context2d } from "./context_2d";
import { type Detail, detailAt } from "./detail";
import type { Drawing } from "./drawing";
import { drawEdgeLabels, drawEdges } from "./edges";
import { drawFar } from "./far";
import type { Frame, Renderer } from "./frame";
import { drawFrames, drawGroupMarks, drawGroupPads, drawTabs } from "./groups";
import { drawHulls } from "./hulls";
import { drawPads } from "./pads";

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
  const detail = detailAt(k);
  const hulls = frame.hulls.filter((hull) => touches(hull.bounds, drawing.area));
  context.globalAlpha = 1;
  if (drawFar(drawing, hulls, detail)) drawGroups(drawing, detail);
  else drawAll(drawing, hulls, detail);
  drawBadges(drawing, hulls, detail);
}

function drawAll(drawing: Drawing, hulls: readonly Hull[], detail: Detail): void {
  const { context, frame, screen } = drawing;
  drawing.toScreen();
  context.fillStyle = frame.theme.background;
  context.fillRect(0, 0, screen.width, screen.height);
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
}

/** Draw the groups, which `drawFar` leaves out. */
function drawGroups(drawing: Drawing, detail: Detail): void {
  drawFrames(drawing, detail);
  drawGroupPads(drawing, detail);
}
