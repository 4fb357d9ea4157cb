// The whole graph as a picture: the drawing of the page, from the first node to the last, with a line below that says what it shows.

import { FONT } from "../layout/measure";
import type { Brush } from "./brush";
import type { Frame } from "./frame";
import { drawFrame } from "./renderer";
import { SvgBrush } from "./svg_brush";

const MARGIN = 28;
const CAPTION = 30;
const MOST_PX = 16_000;
const MOST_AREA_PX = 60e6;
const SHARPNESS = 2;

/** A picture's frame: of what a person points at and selects there is nothing in it. */
export type PictureFrame = Pick<Frame, "scene" | "theme" | "hulls" | "paint" | "pads" | "groups">;

export interface Caption {
  text: string;
  /** Targets with their letter and colour. */
  keys: readonly { letter: string; name: string; colour: string }[];
}

interface Size {
  width: number;
  height: number;
}

/** The size of the picture of a scene, in graph pixels. */
export function sizeOf({ scene }: PictureFrame, caption: Caption, brush: Brush): Size {
  return { width: Math.max(Math.ceil(scene.bounds.width + 2 * MARGIN), 2 * MARGIN + captionWidth(brush, caption)), height: Math.ceil(scene.bounds.height + 2 * MARGIN + CAPTION) };
}

/** The graph as an SVG document. */
export function svgPicture(frame: PictureFrame, caption: Caption): string {
  const ruler = document.createElement("canvas").getContext("2d");
  if (!ruler) throw new Error("this browser gives no 2D canvas");
  const brush = new SvgBrush(ruler, frame.theme.text);
  const size = sizeOf(frame, caption, brush);
  paint(brush, frame, caption, size, 1);
  return brush.document(size.width, size.height, caption.text, FONT.replaceAll('"', "'"));
}

/** The graph as a PNG: twice as sharp as on the page, or as sharp as a picture of its size can be. */
export async function pngPicture(frame: PictureFrame, caption: Caption): Promise<Blob> {
  const canvas = document.createElement("canvas");
  const brush = canvas.getContext("2d", { alpha: false });
  if (!brush) throw new Error("this browser gives no 2D canvas");
  const size = sizeOf(frame, caption, brush);
  const ratio = sharpness(size);
  canvas.width = Math.round(size.width * ratio);
  canvas.height = Math.round(size.height * ratio);
  paint(brush, frame, caption, size, ratio);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture came out"))), "image/png"));
}

/** How many pixels of a picture are one of the graph. */
export function sharpness({ width, height }: Size): number {
  return Math.min(SHARPNESS, MOST_PX / Math.max(width, height), Math.sqrt(MOST_AREA_PX / (width * height)));
}

function paint(brush: Brush, frame: PictureFrame, caption: Caption, size: Size, ratio: number): void {
  const nothing = { selected: NONE, hits: NONE, hovered: NONE, selectedPartition: undefined, changed: NONE };
  drawFrame(brush, { ...frame, ...nothing, fade: 0, camera: { x: -MARGIN, y: -MARGIN, k: 1 } }, size, ratio);
  drawCaption(brush, frame, caption, size);
}

const NONE: ReadonlySet<never> = new Set<never>();
const TEXT_FONT = `12px ${FONT}`;
const KEY_FONT = `bold 11px ${FONT}`;

function captionWidth(brush: Brush, { text, keys }: Caption): number {
  brush.font = TEXT_FONT;
  return Math.ceil(brush.measureText(text).width + keys.reduce((sum, key) => sum + brush.measureText(key.name).width + 38, 0));
}

function drawCaption(brush: Brush, { theme }: PictureFrame, { text, keys }: Caption, size: Size): void {
  const y = size.height - CAPTION / 2 - 4;
  let x = MARGIN;
  brush.globalAlpha = 1;
  brush.textAlign = "left";
  brush.textBaseline = "middle";
  brush.font = TEXT_FONT;
  brush.fillStyle = theme.text;
  brush.fillText(text, x, y);
  x += brush.measureText(text).width + 18;
  for (const { letter, name, colour } of keys) {
    brush.fillStyle = colour;
    brush.beginPath();
    brush.roundRect(x, y - 8, 16, 16, 8);
    brush.fill();
    brush.font = KEY_FONT;
    brush.fillStyle = "#ffffff";
    brush.textAlign = "center";
    brush.fillText(letter, x + 8, y + 0.5);
    brush.textAlign = "left";
    brush.font = TEXT_FONT;
    brush.fillStyle = theme.text;
    brush.fillText(name, x + 21, y);
    x += brush.measureText(name).width + 38;
  }
}
