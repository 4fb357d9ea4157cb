// The whole graph as a picture to save, drawn as on the page, with a caption below.

import { FONT_FAMILY } from "../layout/measure";
import type { Context2d } from "./context_2d";
import type { Frame } from "./frame";
import { drawFrame } from "./renderer";
import { SvgContext } from "./svg_context";

const MARGIN = 28;
const CAPTION = 30;
const MOST_PX = 16_000;
const MOST_AREA_PX = 60e6;
const SHARPNESS = 2;

/** The frame of a picture: without what is selected, found or hovered. */
export type PictureFrame = Pick<Frame, "scene" | "theme" | "hulls" | "paint" | "boxes" | "pads" | "groups" | "crossings">;

export interface Caption {
  text: string;
  /** The legend: the targets with their letters and colours. */
  keys: readonly { letter: string; name: string; colour: string }[];
}

interface Size {
  width: number;
  height: number;
}

/** The size of the picture of a scene, in graph pixels. */
function pictureSize({ scene }: PictureFrame, caption: Caption, context: Context2d): Size {
  return { width: Math.max(Math.ceil(scene.bounds.width + 2 * MARGIN), 2 * MARGIN + captionWidth(context, caption)), height: Math.ceil(scene.bounds.height + 2 * MARGIN + CAPTION) };
}

/** The graph as an SVG document. */
export function svgPicture(frame: PictureFrame, caption: Caption): string {
  const ruler = document.createElement("canvas").getContext("2d");
  if (!ruler) throw new Error("this browser gives no 2D canvas");
  const context = new SvgContext(ruler, frame.theme.text);
  const size = pictureSize(frame, caption, context);
  paint(context, frame, caption, size, 1);
  return context.document(size.width, size.height, caption.text, FONT_FAMILY.replaceAll('"', "'"));
}

/** The graph as a PNG, at twice the resolution of the page, or at the highest that the size of a canvas allows. */
export async function pngPicture(frame: PictureFrame, caption: Caption): Promise<Blob> {
  const canvas = document.createElement("canvas");
  const context = canvas.getContext("2d", { alpha: false });
  if (!context) throw new Error("this browser gives no 2D canvas");
  const size = pictureSize(frame, caption, context);
  const ratio = sharpness(size);
  canvas.width = Math.round(size.width * ratio);
  canvas.height = Math.round(size.height * ratio);
  paint(context, frame, caption, size, ratio);
  return new Promise((resolve, reject) => canvas.toBlob((blob) => (blob ? resolve(blob) : reject(new Error("no picture came out"))), "image/png"));
}

/** The number of picture pixels for one graph pixel. */
function sharpness({ width, height }: Size): number {
  return Math.min(SHARPNESS, MOST_PX / Math.max(width, height), Math.sqrt(MOST_AREA_PX / (width * height)));
}

function paint(context: Context2d, frame: PictureFrame, caption: Caption, size: Size, ratio: number): void {
  const nothing = { selected: NONE, hits: NONE, hovered: NONE, selectedPartition: undefined, changed: NONE };
  drawFrame(context, { ...frame, ...nothing, fade: 0, camera: { x: -MARGIN, y: -MARGIN, k: 1 } }, size, ratio);
  drawCaption(context, frame, caption, size);
}

const NONE: ReadonlySet<never> = new Set<never>();
const TEXT_FONT = `12px ${FONT_FAMILY}`;
const KEY_FONT = `bold 11px ${FONT_FAMILY}`;

function captionWidth(context: Context2d, { text, keys }: Caption): number {
  context.font = TEXT_FONT;
  return Math.ceil(context.measureText(text).width + keys.reduce((sum, key) => sum + context.measureText(key.name).width + 38, 0));
}

function drawCaption(context: Context2d, { theme }: PictureFrame, { text, keys }: Caption, size: Size): void {
  const y = size.height - CAPTION / 2 - 4;
  let x = MARGIN;
  context.globalAlpha = 1;
  context.textAlign = "left";
  context.textBaseline = "middle";
  context.font = TEXT_FONT;
  context.fillStyle = theme.text;
  context.fillText(text, x, y);
  x += context.measureText(text).width + 18;
  for (const { letter, name, colour } of keys) {
    context.fillStyle = colour;
    context.beginPath();
    context.roundRect(x, y - 8, 16, 16, 8);
    context.fill();
    context.font = KEY_FONT;
    context.fillStyle = "#ffffff";
    context.textAlign = "center";
    context.fillText(letter, x + 8, y + 0.5);
    context.textAlign = "left";
    context.font = TEXT_FONT;
    context.fillStyle = theme.text;
    context.fillText(name, x + 21, y);
    x += context.measureText(name).width + 38;
  }
}
