// The camera: which part of the graph is seen, and at what scale. Pure functions on a small value.

import type { Rect, Size } from "../../base/geometry";

/** The graph point (x, y) is at the top left of the screen; k screen pixels are one graph pixel. */
export interface Camera {
  x: number;
  y: number;
  k: number;
}

const MIN_SCALE = 0.0005;
const MAX_SCALE = 6;
const MARGIN = 32;
/** The margin above and below a graph that is shown as a whole. */
const EDGE = 14;
/** The margin around a rectangle that is brought into view. */
const AROUND = 70;

/** The view, moved by screen pixels. */
export function panned(camera: Camera, dx: number, dy: number): Camera {
  return { ...camera, x: camera.x - dx / camera.k, y: camera.y - dy / camera.k };
}

/** The view, zoomed by `factor`; the graph point at the screen point (sx, sy) stays there. */
export function zoomedAbout(camera: Camera, factor: number, sx: number, sy: number): Camera {
  const k = clamp(camera.k * factor, MIN_SCALE, MAX_SCALE);
  return { k, x: camera.x + sx / camera.k - sx / k, y: camera.y + sy / camera.k - sy / k };
}

/** The size that a graph can have which is shown as a whole. */
export function roomIn({ width, height }: Size): Size {
  return { width: Math.max(1, width - 2 * MARGIN), height: Math.max(1, height - 2 * EDGE) };
}

/** The view with all of `bounds` in the middle of the screen. */
export function fitted(bounds: Rect, screen: Size, maxScale = 1.25): Camera {
  const room = roomIn(screen);
  const k = Math.min(room.width / Math.max(1, bounds.width), room.height / Math.max(1, bounds.height));
  return centred(bounds, screen, clamp(k, MIN_SCALE, maxScale));
}

/** The view with the whole width of `bounds`, at the height where `camera` is: the readable fit of a deep model. */
export function fittedWidth(bounds: Rect, screen: Size, camera: Camera): Camera {
  const k = clamp(roomIn(screen).width / Math.max(1, bounds.width), MIN_SCALE, 1.25);
  const middle = camera.y + screen.height / camera.k / 2;
  return keptNear({ ...centred(bounds, screen, k), y: middle - screen.height / k / 2 }, bounds, screen);
}

/**
 * The view with which a model opens: all of it where it is fitted at `readable` or more, else the top of its first column, `lead`. Where
 * that column is wider than the screen, its corner may be empty, and all of the model is shown.
 */
export function opening(bounds: Rect, screen: Size, lead = bounds, readable = 0.6): Camera {
  const whole = fitted(bounds, screen);
  if (whole.k >= readable) return whole;
  const { width } = roomIn(screen);
  const k = clamp(width / Math.max(1, lead.width), 0.6, 1.1);
  const isWider = bounds.width * k > width && lead.width < bounds.width;
  if (isWider && lead.width * k > width) return whole;
  const x = isWider ? lead.x - MARGIN / k : bounds.x + bounds.width / 2 - screen.width / k / 2;
  return { k, x, y: bounds.y - EDGE / k };
}

/** The view with the middle of `rect` in the middle of the screen. */
export function centred(rect: Rect, screen: Size, k: number): Camera {
  return { k, x: rect.x + rect.width / 2 - screen.width / k / 2, y: rect.y + rect.height / 2 - screen.height / k / 2 };
}

/**
 * The view with all of `rect` and a margin in it; zoomed in where `rect` would be too small to read. The same view where it is in it
 * already. Where `rect` lies across an edge, two thirds of the screen are left for what follows in that direction, so that the next
 * steps of a walk need no movement.
 */
export function revealing(camera: Camera, rect: Rect, screen: Size, minScale = 0.7): Camera {
  if (camera.k < minScale) return centred(rect, screen, minScale);
  const { k } = camera;
  const around = AROUND / k;
  const x = held(camera.x, screen.width / k, rect.x - around, rect.x + rect.width + around);
  const y = held(camera.y, screen.height / k, rect.y - around, rect.y + rect.height + around);
  return x === camera.x && y === camera.y ? camera : { k, x, y };
}

/** The start of a span of this length that holds all from `from` to `to`: as before, or with their middle a third behind the edge that they cross. */
function held(start: number, length: number, from: number, to: number): number {
  if (start <= from && to <= start + length) return start;
  const middle = (from + to) / 2;
  const before = middle < start + length / 2 ? (2 / 3) * length : length / 3;
  return to - from > (2 / 3) * length ? middle - length / 2 : middle - before;
}

/** The view, moved back where none of the graph would be in it. */
export function keptNear(camera: Camera, bounds: Rect, screen: Size): Camera {
  const [width, height] = [screen.width / camera.k, screen.height / camera.k];
  const keep = 60 / camera.k;
  return {
    k: camera.k,
    x: clamp(camera.x, bounds.x - width + keep, bounds.x + bounds.width - keep),
    y: clamp(camera.y, bounds.y - height + keep, bounds.y + bounds.height - keep),
  };
}

/** True if two views show the same: no point of the graph is a pixel or more apart on the screen. */
export function showSame(a: Camera, b: Camera, { width, height }: Size): boolean {
  const atStart = [(a.x - b.x) * b.k, (a.y - b.y) * b.k];
  const atEnd = [(a.x + width / a.k - b.x) * b.k - width, (a.y + height / a.k - b.y) * b.k - height];
  return [...atStart, ...atEnd].every((offPx) => Math.abs(offPx) < 1);
}

/** The rectangle of the graph that is in view. */
export function seen(camera: Camera, screen: Size): Rect {
  return { x: camera.x, y: camera.y, width: screen.width / camera.k, height: screen.height / camera.k };
}

/** The view between two others, for t from 0 to 1; the scale changes in equal ratios. */
export function between(from: Camera, to: Camera, t: number, screen: Size): Camera {
  const k = from.k * Math.pow(to.k / from.k, t);
  const mix = (a: number, b: number): number => a + (b - a) * t;
  const cx = mix(from.x + screen.width / from.k / 2, to.x + screen.width / to.k / 2);
  const cy = mix(from.y + screen.height / from.k / 2, to.y + screen.height / to.k / 2);
  return { k, x: cx - screen.width / k / 2, y: cy - screen.height / k / 2 };
}

function clamp(value: number, low: number, high: number): number {
  return Math.max(Math.min(low, high), Math.min(Math.max(low, high), value));
}
