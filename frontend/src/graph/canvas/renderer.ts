// Draws the graph on a canvas: hulls, pads of single nodes, edges, boxes, badges, outlines, from back to front. Only what is in view is touched.

import { type Size, touches } from "../../base/geometry";
import { seen } from "../scene/camera";
import { drawBoxes, drawOutlines } from "./boxes";
import type { Brush } from "./brush";
import { detailAt } from "./detail";
import { drawEdgeLabels, drawEdges } from "./edges";
import type { Frame, Renderer } from "./frame";
import { drawFrames, drawGroupMarks, drawGroupPads, drawTabs } from "./groups";
import { drawBadges, drawHulls } from "./hulls";
import { drawPads } from "./pads";
import type { Pen } from "./pen";

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

  /** The picture that was kept, through which the new one comes. */
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

/** Draw a frame of this size with a brush, of which `ratio` pixels are one of the screen. */
export function drawFrame(context: Brush, frame: Frame, size: Size, ratio: number): void {
  const { k, x, y } = frame.camera;
  const pen: Pen = {
    context,
    frame,
    area: seen(frame.camera, size),
    screen: size,
    toGraph: () => context.setTransform(k * ratio, 0, 0, k * ratio, -x * k * ratio, -y * k * ratio),
    toScreen: () => context.setTransform(ratio, 0, 0, ratio, 0, 0),
  };
  pen.toScreen();
  context.globalAlpha = 1;
  context.fillStyle = frame.theme.background;
  context.fillRect(0, 0, size.width, size.height);
  const detail = detailAt(k);
  const hulls = frame.hulls.filter((hull) => touches(hull.bounds, pen.area));
  pen.toGraph();
  drawFrames(pen, detail);
  drawHulls(pen, hulls, detail);
  drawPads(pen, detail);
  drawGroupPads(pen, detail);
  if (detail.edges > 0) {
    const edges = frame.scene.edgesIn(pen.area);
    drawEdges(pen, edges, detail);
    drawEdgeLabels(pen, edges, detail);
  }
  if (detail.boxes > 0) {
    const boxes = frame.scene.boxesIn(pen.area);
    drawBoxes(pen, boxes, detail);
    drawGroupMarks(pen, boxes, detail);
  }
  drawTabs(pen, detail);
  drawOutlines(pen);
  drawBadges(pen, hulls, detail);
}
