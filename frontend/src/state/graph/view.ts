// The view of the graph: the camera, the size of the screen, and the movements of the camera.

import { signal } from "@preact/signals";
import { cancelFrame, requestFrame } from "../../base/frame_scheduler";
import type { Rect, Size } from "../../base/geometry";
import * as cameras from "../../graph/scene/camera";
import type { Camera } from "../../graph/scene/camera";
import type { Window } from "../../graph/scene/make";
import { holderOf, leadOf } from "../../graph/scene/scene";
import { isDrawerOpen } from "../display";
import { model } from "../model/model";
import { selection } from "../selection/selection";
import { columns } from "../settings";

export const camera = signal<Camera>({ x: 0, y: 0, k: 1 });
/** The size of the graph's screen. */
export const screenSize = signal<Size>({ width: 0, height: 0 });

const MOVE_MS = 140;
/** The width and height that the rest of the page takes of a window. */
const AROUND_GRAPH = { bar: 46, strip: 46, drawer: 232, closedDrawer: 37, controls: 92 };

/**
 * The size that a whole graph has on its screen with the drawer open or closed: before the page has a graph, as far as the size of the
 * window tells.
 */
function roomForGraph(hasDrawer: boolean): Size {
  const { bar, strip, drawer, closedDrawer, controls } = AROUND_GRAPH;
  const { width, height } = screenSize.peek();
  const grows = Number(isDrawerOpen.peek()) - Number(hasDrawer);
  if (width > 0) return cameras.roomIn({ width, height: height + grows * (drawer - closedDrawer) });
  if (typeof window === "undefined") return { width: 0, height: 0 };
  const panel = Math.max(280, Math.min(380, window.innerWidth / 4));
  const below = hasDrawer ? drawer : closedDrawer;
  return cameras.roomIn({ width: window.innerWidth - strip - panel, height: window.innerHeight - bar - below - controls });
}

/** The window that a scene is laid out for, with the drawer open or closed. */
export function windowForGraph(hasDrawer = isDrawerOpen.peek()): Window {
  return { room: roomForGraph(hasDrawer), columns: columns.peek() };
}

/** True if the user prefers reduced motion. */
export function prefersReducedMotion(): boolean {
  return reducedMotion?.matches ?? false;
}

const reducedMotion = typeof matchMedia === "undefined" ? undefined : matchMedia("(prefers-reduced-motion: reduce)");
/** The movement that goes on, and the view where it ends. */
let moving: { job: (nowMs: number) => boolean; to: Camera } | undefined;

/** Set the camera at once; a movement that goes on ends. */
export function setCamera(next: Camera): void {
  halt();
  const bounds = model.peek()?.scene.bounds;
  camera.value = bounds ? cameras.keptNear(next, bounds, screenSize.peek()) : next;
}

/** Move the camera smoothly, or at once where the user prefers reduced motion. */
export function glide(to: Camera): void {
  halt();
  const from = camera.peek();
  if (to === from) return;
  if (prefersReducedMotion()) {
    camera.value = to;
    return;
  }
  let start: number | undefined;
  const job = (nowMs: number): boolean => {
    start ??= nowMs;
    const t = Math.min(1, (nowMs - start) / MOVE_MS);
    camera.value = t >= 1 ? to : cameras.between(from, to, 1 - (1 - t) ** 3, screenSize.peek());
    if (t >= 1) moving = undefined;
    return t < 1;
  };
  moving = { job, to };
  requestFrame(job);
}

function halt(): void {
  if (moving) cancelFrame(moving.job);
  moving = undefined;
}

export function pan(dx: number, dy: number): void {
  setCamera(cameras.panned(camera.peek(), dx, dy));
}

/** Zoom about a point of the screen, by default about its middle. */
export function zoom(factor: number, sx?: number, sy?: number): void {
  const { width, height } = screenSize.peek();
  setCamera(cameras.zoomedAbout(camera.peek(), factor, sx ?? width / 2, sy ?? height / 2));
}

/** One step of the zoom buttons. */
export function zoomStep(direction: 1 | -1): void {
  const { width, height } = screenSize.peek();
  glide(cameras.zoomedAbout(camera.peek(), 1.5 ** direction, width / 2, height / 2));
}

const RIBBON = 0.12;

/** Show the whole model. */
export function fitWhole(): void {
  const bounds = model.peek()?.scene.bounds;
  if (bounds) glide(cameras.fitted(bounds, screenSize.peek()));
}

/** Show the whole model from wherever the view is; if that is shown, or on its way, and would be too thin to read, show the model's width. */
export function fit(): void {
  const bounds = model.peek()?.scene.bounds;
  if (!bounds) return;
  const screen = screenSize.peek();
  const whole = cameras.fitted(bounds, screen);
  const isThere = cameras.showSame(moving?.to ?? camera.peek(), whole, screen);
  glide(isThere && whole.k < RIBBON * 4 ? cameras.fittedWidth(bounds, screen, whole) : whole);
}

/** Bring a rectangle of the graph into view. */
export function reveal(rect: Rect, minScale?: number): void {
  glide(cameras.revealing(camera.peek(), rect, screenSize.peek(), minScale));
}

const READABLE = 0.5;

/** Bring all of a rectangle into view: by moving where it can be read at the present scale, else by zooming to it. */
export function revealWhole(rect: Rect): void {
  const whole = cameras.fitted(rect, screenSize.peek(), 1);
  const { k } = camera.peek();
  if (k <= whole.k && k >= READABLE) reveal(rect);
  else glide(whole);
}

/** A model opens as a whole where its fitted boxes are at least this large: those of a folded one say more by their places and colours. */
const OPENS_WHOLE = { folded: 0.2, unfolded: 0.45 };

/** The view that was set last to show the whole model, or its opening; the user has moved if the camera has another. */
let wholeView: Camera | undefined;

/** Show the whole again after the screen has changed, unless the user has moved since. */
export function keepWhole(): void {
  if (wholeView && camera.peek() === wholeView) openView();
}

/** Set the view with which a model opens; the selected box is in it. */
export function openView(): void {
  const scene = model.peek()?.scene;
  if (!scene || screenSize.peek().width === 0) return;
  const view = cameras.opening(scene.bounds, screenSize.peek(), leadOf(scene), scene.graph.groupAt.size > 0 ? OPENS_WHOLE.folded : OPENS_WHOLE.unfolded);
  const chosen = selection.peek();
  const box = chosen.kind === "box" ? holderOf(scene, chosen.box) : undefined;
  setCamera(box ? cameras.revealing(view, box, screenSize.peek()) : view);
  wholeView = camera.peek();
}
