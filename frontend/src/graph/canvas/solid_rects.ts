// Fills the boxes and blocks of a graph that is seen from far. Thousands of rectangles of a few pixels are written into an image of the
// canvas's size and drawn at once: filled one by one, each is smoothed at its edges, which takes several times as long.

import { channels } from "../../base/colour";
import type { Rect, Size } from "../../base/geometry";
import type { Context2d } from "./context_2d";

/** So few rectangles are filled one by one, with smooth edges. */
const FEW = 1500;

/** The scale of the graph on the canvas, and the canvas's corner in pixels of the scaled graph. */
export interface Projection {
  scale: number;
  left: number;
  top: number;
}

interface Coloured {
  colour: string;
  rect: Rect;
}

/** Rectangles in graph pixels, filled in the order in which they were added. */
export class SolidRects {
  private readonly all: Coloured[] = [];

  add(colour: string, rect: Rect): void {
    this.all.push({ colour, rect });
  }

  /** Fill them with a context whose transform is this projection. */
  fill(context: Context2d, projection: Projection): void {
    if (this.all.length > FEW && context instanceof CanvasRenderingContext2D) this.fillPixels(context, projection);
    else this.fillEach(context);
  }

  private fillEach(context: Context2d): void {
    for (const { colour, rect } of this.all) {
      context.fillStyle = colour;
      context.fillRect(rect.x, rect.y, rect.width, rect.height);
    }
  }

  private fillPixels(context: CanvasRenderingContext2D, projection: Projection): void {
    const size = { width: context.canvas.width, height: context.canvas.height };
    const layer = layerOf(size);
    layer.words.fill(0);
    const words = new Map<string, number>();
    for (const { colour, rect } of this.all) {
      const word = words.get(colour) ?? wordOf(colour);
      words.set(colour, word);
      fillWords(layer.words, size, rect, projection, word);
    }
    layer.context.putImageData(layer.image, 0, 0);
    context.save();
    context.setTransform(1, 0, 0, 1, 0, 0);
    context.drawImage(layer.context.canvas, 0, 0);
    context.restore();
  }
}

/** Write a rectangle, of a pixel at least, into an image of this size. */
export function fillWords(words: Uint32Array, size: Size, rect: Rect, { scale, left, top }: Projection, word: number): void {
  const [x, y] = [Math.round(rect.x * scale - left), Math.round(rect.y * scale - top)];
  const right = Math.min(size.width, Math.max(x + 1, Math.round((rect.x + rect.width) * scale - left)));
  const bottom = Math.min(size.height, Math.max(y + 1, Math.round((rect.y + rect.height) * scale - top)));
  const first = Math.max(0, x);
  if (first >= right) return;
  for (let row = Math.max(0, y); row < bottom; row++) words.fill(word, row * size.width + first, row * size.width + right);
}

/** An opaque colour as a pixel of an image's memory on a little-endian machine, as all machines with browsers are. */
function wordOf(colour: string): number {
  const [red = 0, green = 0, blue = 0] = channels(colour);
  return ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
}

interface Layer {
  words: Uint32Array;
  image: ImageData;
  context: CanvasRenderingContext2D;
}

let kept: Layer | undefined;

/** An image of this size, and a canvas to draw it from: the one of the last frame where the size is the same. */
function layerOf({ width, height }: Size): Layer {
  if (kept?.image.width === width && kept.image.height === height) return kept;
  const canvas = document.createElement("canvas");
  [canvas.width, canvas.height] = [width, height];
  const context = canvas.getContext("2d", { willReadFrequently: true });
  if (!context) throw new Error("this browser gives no 2D canvas");
  const image = new ImageData(width, height);
  kept = { words: new Uint32Array(image.data.buffer), image, context };
  return kept;
}
