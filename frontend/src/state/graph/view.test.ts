import { afterEach, beforeEach, expect, test, vi } from "vitest";
import type { Rect } from "../../base/geometry";
import { fitted, fittedWidth, type Camera } from "../../graph/scene/camera";
import { modelState, type OpenedModel } from "../model/model";
import { camera, fit, pan, screenSize, setCamera, zoom } from "./view";

const SCREEN = { width: 1000, height: 600 };
const TALL: Rect = { x: 0, y: 0, width: 400, height: 9000 };
const WIDE: Rect = { x: -50, y: 20, width: 9000, height: 400 };
const LARGE: Rect = { x: 0, y: 0, width: 3000, height: 1900 };

let frames: ((nowMs: number) => void)[] = [];
let nowMs = 0;

/** Draw frames until nothing moves. */
function settle(): void {
  for (let next = frames.shift(); next; next = frames.shift()) next((nowMs += 20));
}

function open(bounds: Rect): { whole: Camera; width: Camera } {
  modelState.value = { kind: "ready", model: { scene: { bounds } } as unknown as OpenedModel };
  const whole = fitted(bounds, SCREEN);
  return { whole, width: fittedWidth(bounds, SCREEN, whole) };
}

function pressFit(): Camera {
  fit();
  settle();
  return camera.peek();
}

beforeEach(() => {
  frames = [];
  vi.stubGlobal("requestAnimationFrame", (frame: (nowMs: number) => void) => frames.push(frame));
  screenSize.value = SCREEN;
});

afterEach(() => {
  settle();
  vi.unstubAllGlobals();
  modelState.value = { kind: "empty" };
});

test.each([["tall", TALL], ["wide", WIDE], ["large", LARGE]])("one press fits a %s model, wherever the view was", (_, bounds) => {
  const { whole } = open(bounds);
  const away: (() => void)[] = [
    () => pan(0, -250), // scrolled at the scale at which all of it is shown
    () => pan(0, 250),
    () => pan(400, 0),
    () => pan(-3, 2),
    () => zoom(1.004),
    () => zoom(4, 0, 0),
    () => zoom(0.2),
    () => setCamera({ x: bounds.x + bounds.width / 2, y: bounds.y + bounds.height / 2, k: 1 }),
    () => setCamera({ x: 1e7, y: -1e7, k: 3 }),
  ];
  for (const move of away) {
    setCamera(whole);
    move();
    expect(pressFit()).toEqual(whole);
  }
});

test("further presses show the width of a thin model and the whole in turns", () => {
  const { whole, width } = open(TALL);
  setCamera({ x: 100, y: -40, k: 0.05 });
  expect([1, 2, 3, 4].map(pressFit)).toEqual([whole, width, whole, width]);
});

test("a model that can be read as a whole has no second view", () => {
  const { whole } = open({ x: 0, y: 0, width: 900, height: 700 });
  pan(200, 100);
  expect([1, 2].map(pressFit)).toEqual([whole, whole]);
});

test("a second press while the view is on its way to the whole asks for the width, and one after a drag for the whole", () => {
  const { whole, width } = open(TALL);
  setCamera({ x: 0, y: 0, k: 1 });
  fit();
  frames.shift()?.((nowMs += 20));
  expect(pressFit()).toEqual(width);
  fit();
  frames.shift()?.((nowMs += 20));
  pan(0, 10);
  expect(pressFit()).toEqual(whole);
});
