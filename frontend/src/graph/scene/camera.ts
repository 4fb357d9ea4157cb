// The camera: which part of the graph is seen, and at what scale. Pure functions on a small value.

import type { Rect, Size } from "../../base/geometry";

/** The graph point (x, y) is at the top left of the screen; k screen pixels are one graph pixel. */
export interface Camera {
  x: number;
  y: number;
  k: number;
}

/** The screen on which the graph is seen, and what covers it. */
export interface Screen extends Size {
  /** The height at the top that the controls cover, over the whole width. */
  top: number;
  /** The size of the legend, which covers the bottom left corner. */
  corner: Size;
}

const MIN_SCALE = 0.0005;
const MAX_SCALE = 6;
const MARGIN = 32;
/** Between controls or legend and the graph beside them. */
const GAP = 6;
/** The margin under a graph that is shown as a whole. */
const FOOT = 14;
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

/** The view with all of `bounds` in the middle of the screen, clear of controls and legend. */
export function fitted(bounds: Rect, screen: Screen, maxScale = 1.25): Camera {
  const view = fittedAbove(FOOT, bounds, screen, maxScale);
  return isInCorner(bounds, view, screen) ? fittedAbove(screen.corner.height + GAP, bounds, screen, maxScale) : view;
}

/** As `fitted`, with `foot` pixels free below. */
function fittedAbove(foot: number, bounds: Rect, screen: Screen, maxScale: number): Camera {
  const wide = Math.max(1, screen.width - 2 * MARGIN) / Math.max(1, bounds.width);
  const high = Math.max(1, screen.height - screen.top - GAP - foot) / Math.max(1, bounds.height);
  return centred(bounds, screen, clamp(Math.min(wide, high), MIN_SCALE, maxScale), foot);
}

/** Whether the legend covers some of the rectangle. */
function isInCorner(rect: Rect, view: Camera, { height, corner }: Screen): boolean {
  const left = (rect.x - view.x) * view.k;
  const bottom = (rect.y + rect.height - view.y) * view.k;
  return left < corner.width && bottom > height - corner.height;
}

/** The view with the whole width of `bounds`, at the height where `camera` is: the readable fit of a deep model. */
export function fittedWidth(bounds: Rect, screen: Screen, camera: Camera): Camera {
  const k = clamp(Math.max(1, screen.width - 2 * MARGIN) / Math.max(1, bounds.width), MIN_SCALE, 1.25);
  const middle = camera.y + middleOf(screen) / camera.k;
  return keptNear({ ...centred(bounds, screen, k), y: middle - middleOf(screen) / k }, bounds, screen);
}

/** The view with which a model opens: all of the model where that can be read, else its top. */
export function opening(bounds: Rect, screen: Screen): Camera {
  const whole = fitted(bounds, screen);
  if (whole.k >= 0.6) return whole;
  const k = clamp((screen.width - 2 * MARGIN) / Math.max(1, bounds.width), 0.6, 1.1);
  return { k, x: bounds.x + bounds.width / 2 - screen.width / k / 2, y: bounds.y - (screen.top + GAP) / k };
}

/** The view with the middle of `rect` in the middle of the free screen. */
export function centred(rect: Rect, screen: Screen, k: number, foot = FOOT): Camera {
  return { k, x: rect.x + rect.width / 2 - screen.width / k / 2, y: rect.y + rect.height / 2 - middleOf(screen, foot) / k };
}

/** The height of the middle of the free screen. */
function middleOf({ height, top }: Screen, foot = FOOT): number {
  return (top + GAP + height - foot) / 2;
}

/** The view, moved as little as possible, with all of `rect` and a margin in it; zoomed in where `rect` would be too small to read. */
export function revealing(camera: Camera, rect: Rect, screen: Screen, minScale = 0.7): Camera {
  const k = Math.max(camera.k, minScale);
  const zoomed = k === camera.k ? camera : centred(rect, screen, k);
  const around = AROUND / k;
  const x = nudge(zoomed.x, screen.width / k, rect.x - around, rect.x + rect.width + around);
  const above = Math.max(AROUND, screen.top + GAP) / k;
  const isBesideCorner = (rect.x - x) * k >= screen.corner.width;
  const below = Math.max(AROUND, isBesideCorner ? 0 : screen.corner.height + GAP) / k;
  return { k, x, y: nudge(zoomed.y, screen.height / k, rect.y - above, rect.y + rect.height + below) };
}

function nudge(start: number, length: number, from: number, to: number): number {
  if (to - from > length) return (from + to - length) / 2;
  return clamp(start, to - length, from);
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
