import { expect, test } from "vitest";
import type { Size } from "../../base/geometry";
import { between, centred, fitted, fittedWidth, keptNear, opening, panned, revealing, zoomedAbout, type Camera } from "./camera";

const screen: Size = { width: 1000, height: 600 };
const tall = { x: 0, y: 0, width: 300, height: 900 };
const at = (camera: Camera, sx: number, sy: number): [number, number] => [camera.x + sx / camera.k, camera.y + sy / camera.k];

test("the point under the pointer stays there while zooming", () => {
  const before = { x: 50, y: 70, k: 0.5 };
  const after = zoomedAbout(before, 3, 200, 100);
  expect(after.k).toBe(1.5);
  expect(at(after, 200, 100)).toEqual(at(before, 200, 100));
});

test("zoom goes far in and far out, and ends", () => {
  expect(zoomedAbout({ x: 0, y: 0, k: 1 }, 1e9, 0, 0).k).toBe(6);
  expect(zoomedAbout({ x: 0, y: 0, k: 1 }, 1e-9, 0, 0).k).toBe(0.0005);
});

test("a drag moves the graph with the pointer", () => {
  expect(panned({ x: 0, y: 0, k: 2 }, 20, -10)).toEqual({ x: -10, y: 5, k: 2 });
});

test("fit shows all of a model in the middle; its width where it is a ribbon", () => {
  const ribbon = { x: 0, y: 0, width: 400, height: 100_000 };
  const whole = fitted(ribbon, screen);
  expect(whole.k * ribbon.height).toBeLessThanOrEqual(screen.height);
  const [x, y] = at(whole, 500, 300);
  expect([x, Math.round(y)]).toEqual([200, 50_000]);
  const wide = fittedWidth(ribbon, screen, whole);
  expect(wide.k).toBe(1.25);
  expect(at(wide, 500, 300)[1]).toBeCloseTo(50_000);
});

test("a small model opens whole, a deep one at its top and readable", () => {
  expect(opening({ x: 0, y: 0, width: 300, height: 500 }, screen)).toEqual(fitted({ x: 0, y: 0, width: 300, height: 500 }, screen));
  const deep = opening({ x: 0, y: 0, width: 400, height: 9000 }, screen);
  expect(deep.k).toBeGreaterThanOrEqual(0.6);
  expect(deep.y).toBeLessThanOrEqual(0);
  expect(deep.y).toBeGreaterThan(-100);
});

test("a box in view does not move; one beyond an edge leaves room for what follows, and the other axis stays", () => {
  const camera = { x: 0, y: 0, k: 1 };
  expect(revealing(camera, { x: 400, y: 200, width: 80, height: 40 }, screen)).toBe(camera);
  const moved = revealing(camera, { x: 400, y: 2000, width: 80, height: 40 }, screen);
  expect(moved.x).toBe(0);
  expect(at(moved, 0, 200)).toEqual([0, 2020]);
  expect(revealing(moved, { x: 400, y: 2000, width: 80, height: 40 }, screen)).toBe(moved);
});

test("from afar, a node is shown at a size that can be read", () => {
  const near = revealing({ x: 0, y: 0, k: 0.01 }, { x: 400, y: 2000, width: 80, height: 40 }, screen);
  expect(near.k).toBe(0.7);
  expect(at(near, 500, 300)).toEqual([440, 2020]);
});

test("a wrapped model that is too small as a whole opens at the head of its first column", () => {
  const bounds = { x: 0, y: 0, width: 9000, height: 3000 };
  const first = opening(bounds, screen, { ...bounds, width: 500 });
  expect(at(first, 0, 0)[0]).toBeLessThan(0);
  expect((500 - first.x) * first.k).toBeGreaterThan(300);
  expect(first.y).toBeLessThan(0);
  expect(opening(bounds, screen, { ...bounds, width: 500 }, 0.1)).toEqual(fitted(bounds, screen));
});

test("a wrapped model whose first column is wider than the screen opens whole: the corner of that column may be empty", () => {
  const bounds = { x: 0, y: 0, width: 4000, height: 2000 };
  expect(opening(bounds, screen, { ...bounds, width: 2500 })).toEqual(fitted(bounds, screen));
});

test("a graph that is shown whole touches no end of the screen", () => {
  for (const bounds of [tall, { ...tall, width: 90_000 }]) {
    const view = fitted(bounds, screen);
    expect((bounds.y - view.y) * view.k).toBeGreaterThan(10);
    expect((bounds.x + bounds.width - view.x) * view.k).toBeLessThan(990);
  }
});

test("a box that touches the margin of the view is brought away from it; one that fills the view comes into its middle", () => {
  const above = revealing({ x: 0, y: 0, k: 1 }, { x: 100, y: 60, width: 80, height: 40 }, screen);
  expect(at(above, 0, 400)).toEqual([0, 80]);
  const large = revealing({ x: 0, y: 0, k: 1 }, { x: 100, y: 900, width: 80, height: 400 }, screen);
  expect(at(large, 0, 300)).toEqual([0, 1100]);
});

test("a centred node is in the middle of the free area", () => {
  const view = centred({ x: 0, y: 0, width: 80, height: 40 }, screen, 2);
  expect(at(view, 500, 300)).toEqual([40, 20]);
});

test("one cannot pan the whole model out of sight", () => {
  const far = keptNear({ x: 1e6, y: -1e6, k: 1 }, { x: 0, y: 0, width: 100, height: 100 }, screen);
  expect(far.x).toBeLessThan(100);
  expect(far.y + screen.height).toBeGreaterThan(0);
});

test("a glide begins at its start and ends at its target", () => {
  const [from, to] = [{ x: 0, y: 0, k: 1 }, { x: 300, y: 100, k: 0.25 }];
  const ends = [between(from, to, 0, screen), between(from, to, 1, screen)];
  for (const [i, wanted] of [from, to].entries()) {
    for (const key of ["x", "y", "k"] as const) expect(ends[i]?.[key]).toBeCloseTo(wanted[key]);
  }
});
