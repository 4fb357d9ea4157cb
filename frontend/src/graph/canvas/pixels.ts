// An image as large as the canvas, into which rectangles and lines are written pixel by pixel. A browser without a GPU smooths the edges
// of every shape that it is given, which takes several times as long for thousands of them that are a few pixels large.

import { channels } from "../../base/colour";
import type { Rect, Size } from "../../base/geometry";

/** The scale of the graph on the canvas, and the canvas's corner in pixels of the scaled graph. */
export interface Projection {
  scale: number;
  left: number;
  top: number;
}

/** How much of each pixel of an image lines cover. */
export class Coverage {
  /** By pixel, row by row, from 0 to 255. Where two lines cross, it is no more than that of one. */
  readonly shares: Uint8Array;

  constructor(
    readonly size: Size,
    readonly projection: Projection,
  ) {
    this.shares = new Uint8Array(Math.ceil((size.width * size.height) / 4) * 4);
  }

  /** Add a curve of this width in pixels through points in graph pixels (x, y one after another), vertical at every one of them. */
  add(points: Float64Array, width: number): void {
    const { scale, left, top } = this.projection;
    const { height } = this.size;
    let x = (points[0] ?? 0) * scale - left;
    let y = (points[1] ?? 0) * scale - top;
    for (let i = 2; i < points.length; i += 2) {
      const toX = (points[i] ?? 0) * scale - left;
      const isStraight = Math.abs(toX - x) < STRAIGHT_PX;
      if (isStraight) i = lastAbove(points, i, x, scale, left);
      const toY = (points[i + 1] ?? 0) * scale - top;
      const isSeen = Math.max(y, toY) >= 0 && Math.min(y, toY) <= height;
      if (isSeen && isStraight) this.addLine(x, y, x, toY, width);
      if (isSeen && !isStraight) this.addCurve(x, y, toX, toY, width);
      x = isStraight ? x : toX;
      y = toY;
    }
  }

  private addCurve(x: number, y: number, toX: number, toY: number, width: number): void {
    const dx = toX - x;
    const dy = toY - y;
    const steps = Math.min(MOST_STEPS, Math.ceil((Math.abs(dx) + Math.abs(dy)) / STEP_PX));
    let fromX = x;
    let fromY = y;
    for (let step = 1; step <= steps; step++) {
      const t = step / steps;
      // The Bézier curve whose inner points are halfway down, one below each end.
      const atX = x + dx * t * t * (3 - 2 * t);
      const atY = y + dy * t * (1.5 - 1.5 * t + t * t);
      this.addLine(fromX, fromY, atX, atY, width);
      fromX = atX;
      fromY = atY;
    }
  }

  /** Cover a straight line, row by row where it is steep, else column by column. */
  private addLine(x: number, y: number, toX: number, toY: number, width: number): void {
    const { width: columns, height: rows } = this.size;
    if (Math.abs(toY - y) >= Math.abs(toX - x)) this.addAlong(y, x, toY, toX, width, rows, columns, columns, 1);
    else this.addAlong(x, y, toX, toY, width, columns, rows, 1, columns);
  }

  /** Cover a line by steps along the axis on which it is longer. The image is so many pixels long and wide in these directions, of which the
   * next one is so far in memory. (Plain numbers: most of this runs before the browser has compiled it.) */
  private addAlong(along: number, across: number, toAlong: number, toAcross: number, width: number, length: number, breadth: number, lengthStep: number, breadthStep: number): void {
    const { shares } = this;
    const slope = toAlong === along ? 0 : (toAcross - across) / (toAlong - along);
    const first = Math.max(0, Math.round(Math.min(along, toAlong)));
    const after = Math.min(length, Math.round(Math.max(along, toAlong)));
    for (let step = first; step < after; step++) {
      const low = across + (step + 0.5 - along) * slope - width / 2;
      const high = low + width;
      for (let at = Math.max(0, Math.floor(low)); at < high && at < breadth; at++) {
        const share = 255 * (Math.min(at + 1, high) - Math.max(at, low));
        const index = step * lengthStep + at * breadthStep;
        if (share > (shares[index] ?? 0)) shares[index] = share;
      }
    }
  }
}

/** The last of the points from `i` on that are above or below column `x`: a long edge has a point in each row that it passes. */
function lastAbove(points: Float64Array, i: number, x: number, scale: number, left: number): number {
  let last = i;
  while (last + 2 < points.length && Math.abs((points[last + 2] ?? 0) * scale - left - x) < STRAIGHT_PX) last += 2;
  return last;
}

/** The pixels of an image of this size, for things in graph pixels. */
export class Pixels {
  /** Red, green, blue and opacity of each pixel, row by row. */
  readonly bytes: Uint8ClampedArray<ArrayBuffer>;
  private readonly words: Uint32Array;
  private readonly known = new Map<string, number>();
  private projection: Projection = { scale: 1, left: 0, top: 0 };

  constructor(readonly size: Size) {
    this.bytes = new Uint8ClampedArray(size.width * size.height * 4);
    this.words = new Uint32Array(this.bytes.buffer);
  }

  /** Begin a picture: all of it in one colour. */
  begin(projection: Projection, background: string): void {
    this.projection = projection;
    this.words.fill(this.word(background));
  }

  /** Fill a rectangle with `grow` pixels more on every side, of a pixel at least. */
  fill(colour: string, rect: Rect, opacity = 1, grow = 0): void {
    const { left, top, right, bottom } = this.placed(rect, grow);
    this.fillPlaced(this.word(colour), left, top, right, bottom, opacity);
  }

  /** Draw a frame of `line` pixels around a rectangle, `gap` pixels away from it. */
  frame(colour: string, rect: Rect, gap: number, line: number): void {
    const word = this.word(colour);
    const { left, top, right, bottom } = this.placed(rect, gap);
    this.fillPlaced(word, left - line, top - line, right + line, top, 1);
    this.fillPlaced(word, left - line, bottom, right + line, bottom + line, 1);
    this.fillPlaced(word, left - line, top, left, bottom, 1);
    this.fillPlaced(word, right, top, right + line, bottom, 1);
  }

  /** Draw lines. */
  draw({ shares }: Coverage, colour: string, opacity: number): void {
    const { words } = this;
    const word = this.word(colour);
    new Uint32Array(shares.buffer).forEach((four, i) => {
      if (four === 0) return; // most of the image is empty
      for (let at = 4 * i; at < 4 * i + 4; at++) {
        const share = shares[at] ?? 0;
        if (share > 0) words[at] = blended(words[at] ?? 0, word, Math.round(share * opacity));
      }
    });
  }

  private placed(rect: Rect, grow: number): Placed {
    const { scale, left, top } = this.projection;
    const x = Math.round(rect.x * scale - left);
    const y = Math.round(rect.y * scale - top);
    const right = Math.max(x + 1, Math.round((rect.x + rect.width) * scale - left));
    const bottom = Math.max(y + 1, Math.round((rect.y + rect.height) * scale - top));
    return { left: x - grow, top: y - grow, right: right + grow, bottom: bottom + grow };
  }

  private fillPlaced(word: number, left: number, top: number, right: number, bottom: number, opacity: number): void {
    const { words, size } = this;
    const first = Math.max(0, left);
    const after = Math.min(size.width, right);
    const last = Math.min(size.height, bottom);
    const share = Math.round(255 * opacity);
    for (let row = Math.max(0, top); row < last; row++) {
      const end = row * size.width + after;
      if (share === 255) for (let at = end - after + first; at < end; at++) words[at] = word;
      else for (let at = end - after + first; at < end; at++) words[at] = blended(words[at] ?? 0, word, share);
    }
  }

  /** A colour as a pixel of an image's memory on a little-endian machine, as all machines with browsers are. */
  private word(colour: string): number {
    let word = this.known.get(colour);
    if (word === undefined) {
      const [red = 0, green = 0, blue = 0] = channels(colour);
      word = ((255 << 24) | (blue << 16) | (green << 8) | red) >>> 0;
      this.known.set(colour, word);
    }
    return word;
  }
}

/** A rectangle in pixels of the image; `right` and `bottom` are behind its last ones. */
interface Placed {
  left: number;
  top: number;
  right: number;
  bottom: number;
}

/** A step to the side that is shorter cannot be seen. */
const STRAIGHT_PX = 0.5;
/** How long the pieces of a curve are. */
const STEP_PX = 10;
const MOST_STEPS = 24;

/** A pixel with `share` of 255 parts of another over it. Red and blue are mixed at once: they are 16 bits apart. */
function blended(under: number, over: number, share: number): number {
  const part = share + (share >> 7); // of 256
  const redBlue = (((over & 0xff00ff) * part + (under & 0xff00ff) * (256 - part)) >>> 8) & 0xff00ff;
  const green = (((over & 0xff00) * part + (under & 0xff00) * (256 - part)) >>> 8) & 0xff00;
  return (0xff000000 | redBlue | green) >>> 0;
}
