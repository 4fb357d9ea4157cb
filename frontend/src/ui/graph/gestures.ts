// The gestures on the graph: drag and wheel pan, ctrl+wheel and pinch zoom about the pointer, a click selects, and so does Enter or
// space on a focused element. A click with shift or ctrl adds to the selection; shift and drag draws a rubber band.

import type { Point } from "../../base/geometry";

export interface GestureTarget {
  pan: (dx: number, dy: number) => void;
  zoom: (factor: number, sx: number, sy: number) => void;
  /** `isAdding`: add to the selection, or remove from it. */
  click: (sx: number, sy: number, element: Element | null, isAdding: boolean) => void;
  /** A rubber band between two points of the screen; `isOver` when it is released. */
  band: (from: Point, to: Point, isOver: boolean) => void;
  menu: (sx: number, sy: number, element: Element | null) => void;
  hover: (sx: number, sy: number) => void;
  leave: () => void;
}

const CLICK_SLACK_PX = 4;
const LINE_PX = 16;
/** The elements over the graph: those of boxes and handles. */
const ELEMENTS = "[data-id], [data-group]";

/** Listen to gestures on `host`, until the function that is returned is called. */
export function listenToGestures(host: HTMLElement, target: GestureTarget): () => void {
  const stop = new AbortController();
  const { signal } = stop;
  const pointers = new Map<number, Point>();
  let moved = 0;
  let bandFrom: Point | undefined;
  const local = (event: MouseEvent): Point => {
    const rect = host.getBoundingClientRect();
    return { x: event.clientX - rect.left, y: event.clientY - rect.top };
  };
  const down = (event: PointerEvent): void => {
    if (event.button > 1) return;
    if (pointers.size === 0) moved = 0;
    pointers.set(event.pointerId, local(event));
    bandFrom = event.shiftKey && event.button === 0 && pointers.size === 1 ? local(event) : undefined;
  };
  const move = (event: PointerEvent): void => {
    const at = local(event);
    const before = pointers.get(event.pointerId);
    if (!before) {
      if (event.pointerType === "mouse") target.hover(at.x, at.y);
      return;
    }
    moved += Math.abs(at.x - before.x) + Math.abs(at.y - before.y);
    if (moved > CLICK_SLACK_PX && !host.hasPointerCapture(event.pointerId)) host.setPointerCapture(event.pointerId);
    if (bandFrom && moved > CLICK_SLACK_PX) target.band(bandFrom, at, false);
    else if (pointers.size === 2) pinch(pointers, event.pointerId, at, target);
    else if (moved > CLICK_SLACK_PX) target.pan(at.x - before.x, at.y - before.y);
    pointers.set(event.pointerId, at);
  };
  const up = (event: PointerEvent): void => {
    pointers.delete(event.pointerId);
    if (bandFrom && moved > CLICK_SLACK_PX) target.band(bandFrom, local(event), true);
    bandFrom = undefined;
  };
  const click = (event: MouseEvent): void => {
    if (moved > CLICK_SLACK_PX && event.detail > 0) return;
    const at = local(event);
    target.click(at.x, at.y, elementOf(event), isAdding(event));
  };
  const menu = (event: MouseEvent): void => {
    event.preventDefault();
    const at = local(event);
    target.menu(at.x, at.y, elementOf(event));
  };
  host.addEventListener("pointerdown", down, { signal });
  host.addEventListener("pointermove", move, { signal });
  host.addEventListener("pointerup", up, { signal });
  host.addEventListener("pointercancel", up, { signal });
  host.addEventListener("pointerleave", target.leave, { signal });
  host.addEventListener("click", click, { signal });
  host.addEventListener("keydown", (event) => press(event, target), { signal });
  host.addEventListener("contextmenu", menu, { signal });
  host.addEventListener("wheel", (event) => roll(event, local(event), target), { signal, passive: false });
  return () => stop.abort();
}

function elementOf(event: Event): Element | null {
  return (event.target as Element | null)?.closest(ELEMENTS) ?? null;
}

function isAdding(event: MouseEvent | KeyboardEvent): boolean {
  return event.shiftKey || event.ctrlKey || event.metaKey;
}

/** Treat Enter and space on an element as a click. */
function press(event: KeyboardEvent, target: GestureTarget): void {
  const element = elementOf(event);
  if (!element || (event.key !== "Enter" && event.key !== " ")) return;
  event.preventDefault();
  target.click(0, 0, element, isAdding(event));
}

/** Pan by the wheel; zoom with ctrl, which is also how a pinch on a touchpad arrives. */
function roll(event: WheelEvent, at: Point, target: GestureTarget): void {
  event.preventDefault();
  const unit = event.deltaMode === WheelEvent.DOM_DELTA_LINE ? LINE_PX : 1;
  if (event.ctrlKey || event.metaKey) target.zoom(Math.exp((-event.deltaY * unit) / 240), at.x, at.y);
  else if (event.shiftKey && event.deltaX === 0) target.pan(-event.deltaY * unit, 0);
  else target.pan(-event.deltaX * unit, -event.deltaY * unit);
}

/** Zoom by the change of the distance between two fingers, about their middle. */
function pinch(pointers: Map<number, Point>, moving: number, at: Point, target: GestureTarget): void {
  const before = pointers.get(moving);
  const other = [...pointers].find(([id]) => id !== moving)?.[1];
  if (!before || !other) return;
  const length = (p: Point): number => Math.max(1, Math.hypot(p.x - other.x, p.y - other.y));
  target.zoom(length(at) / length(before), (at.x + other.x) / 2, (at.y + other.y) / 2);
  target.pan((at.x - before.x) / 2, (at.y - before.y) / 2);
}
