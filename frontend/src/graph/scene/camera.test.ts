import { expect, test } from "vitest";
import { between, centred, fitted, fittedWidth, keptNear, opening, panned, revealing, zoomedAbout, type Camera, type Screen } from "./camera";

const screen: Screen = { width: 1000, height: 600, top: 44, corner: { width: 0, height: 0 } };
const withLegend: Screen = { ...screen, corner: { width: 400, height: 90 } };
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
  const [x, y] = at(whole, 500, 318);
  expect([x, Math.round(y)]).toEqual([200, 50_000]);
  const wide = fittedWidth(ribbon, screen, whole);
  expect(wide.k).toBe(1.25);
  expect(at(wide, 500, 318)[1]).toBeCloseTo(50_000);
});

test("a small model opens whole, a deep one at its top and readable", () => {
  expect(opening({ x: 0, y: 0, width: 300, height: 500 }, screen)).toEqual(fitted({ x: 0, y: 0, width: 300, height: 500 }, screen));
  const deep = opening({ x: 0, y: 0, width: 400, height: 9000 }, screen);
  expect(deep.k).toBeGreaterThanOrEqual(0.6);
  expect(deep.y).toBeLessThanOrEqual(0);
  expect(deep.y).toBeGreaterThan(-100);
});

test("a box in view does not move; one outside comes into view with a margin", () => {
  const camera = { x: 0, y: 0, k: 1 };
  expect(revealing(camera, { x: 400, y: 200, width: 80, height: 40 }, screen)).toEqual(camera);
  const moved = revealing(camera, { x: 400, y: 2000, width: 80, height: 40 }, screen);
  expect(moved.x).toBe(0);
  expect(moved.y + 600).toBe(2000 + 40 + 70);
});

test("from afar, a node is shown at a size that can be read", () => {
  const near = revealing({ x: 0, y: 0, k: 0.01 }, { x: 400, y: 2000, width: 80, height: 40 }, screen);
  expect(near.k).toBe(0.7);
  expect(at(near, 500, 318)).toEqual([440, 2020]);
});

test("a graph that is shown whole lies below the controls, however high they are", () => {
  for (const top of [0, 44, 130]) {
    const view = fitted(tall, { ...screen, top });
    expect((tall.y - view.y) * view.k).toBeGreaterThan(top);
    expect((tall.y + tall.height - view.y) * view.k).toBeLessThan(screen.height);
    const deep = { ...tall, height: 90_000 };
    const first = opening(deep, { ...screen, top });
    expect((deep.y - first.y) * first.k).toBeGreaterThan(top);
  }
});

test("a graph that would lie under the legend is shown above it; one beside it keeps its size", () => {
  expect(fitted(tall, withLegend)).toEqual(fitted(tall, screen));
  const wide = { x: 0, y: 0, width: 800, height: 900 };
  const view = fitted(wide, withLegend);
  expect(view.k).toBeLessThan(fitted(wide, screen).k);
  expect((wide.y + wide.height - view.y) * view.k).toBeLessThanOrEqual(600 - 90);
});

test("a box that is brought into view lies neither under the controls nor under the legend", () => {
  const high = { ...withLegend, top: 130 };
  const above = revealing({ x: 0, y: 0, k: 1 }, { x: 100, y: -500, width: 80, height: 40 }, high);
  expect(-500 - above.y).toBeGreaterThan(130);
  const under = revealing({ x: 0, y: 0, k: 1 }, { x: 100, y: 540, width: 80, height: 40 }, withLegend);
  expect(540 + 40 - under.y).toBeLessThanOrEqual(600 - 90);
  const beside = revealing({ x: 0, y: 0, k: 1 }, { x: 500, y: 480, width: 80, height: 40 }, withLegend);
  expect(beside).toEqual({ x: 0, y: 0, k: 1 });
});

test("a centred node is in the middle of the free area", () => {
  const view = centred({ x: 0, y: 0, width: 80, height: 40 }, screen, 2);
  expect(at(view, 500, 318)).toEqual([40, 20]);
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
