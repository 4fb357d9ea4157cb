import { expect, test } from "vitest";
import { chain, inception, residual, transformer } from "../../../test/graphs";
import { atOnce, laidOut } from "../../../test/layouts";
import { touches, type Size } from "../../base/geometry";
import type { GraphJson } from "../../data/protocol";
import { leadOf, placing, type Scene } from "../scene/scene";
import { MOST_STRAIGHT, wrapping, type Columns } from "./wrap";

const WINDOW: Size = { width: 1000, height: 520 };
const models = { chain: chain(), inception: inception(9), residual: residual(30), transformer: transformer(6) };

function wrapped(json: GraphJson, room: Size, columns?: Columns): Scene {
  const { graph, sizes, request, result } = laidOut(json);
  const { layout, ends } = atOnce(wrapping(request, result, room, columns));
  return atOnce(placing(graph, sizes, layout, ends));
}

const scaleOf = ({ bounds }: Scene): number => Math.min(WINDOW.width / bounds.width, WINDOW.height / bounds.height);

test("a deep model fills the window in columns: fitted, its boxes are several times as large as in one", () => {
  for (const json of [residual(30), transformer(12)]) {
    const [tall, wide] = [wrapped(json, { width: 0, height: 0 }), wrapped(json, WINDOW)];
    expect(scaleOf(wide)).toBeGreaterThan(3 * scaleOf(tall));
    expect(leadOf(wide).width).toBeLessThan(wide.bounds.width);
    expect(leadOf(tall)).toEqual(tall.bounds);
  }
});

test("the width that columns take is known with the edges beside their boxes, so the window is filled both ways", () => {
  for (const room of [WINDOW, { width: 634, height: 572 }]) {
    const { bounds } = wrapped(transformer(40), room);
    const shares = [bounds.width / room.width, bounds.height / room.height];
    expect(Math.min(...shares) / Math.max(...shares)).toBeGreaterThan(0.94);
  }
});

test("what can be read in one column stays in one", () => {
  expect(wrapped(chain(), WINDOW)).toMatchObject({ bounds: wrapped(chain(), { width: 0, height: 0 }).bounds });
});

test("a graph of few boxes runs straight down unless columns are on; one of many is wrapped unless they are off", () => {
  const [few, many] = [residual(6), residual(30)];
  const columnsOf = (json: GraphJson, columns: Columns): number => wrapped(json, WINDOW, columns).columnEnds.length + 1;
  expect(wrapped(few, WINDOW).drawn.length).toBeLessThanOrEqual(MOST_STRAIGHT);
  expect(wrapped(many, WINDOW).drawn.length).toBeGreaterThan(MOST_STRAIGHT);
  expect([columnsOf(few, "auto"), columnsOf(few, "off"), columnsOf(many, "off")]).toEqual([1, 1, 1]);
  for (const count of [columnsOf(few, "on"), columnsOf(many, "auto"), columnsOf(many, "on")]) expect(count).toBeGreaterThan(1);
});

test.each(Object.entries(models))("in columns no two boxes of %s overlap", (_, json) => {
  const { drawn: boxes } = wrapped(json, WINDOW);
  for (const [i, a] of boxes.entries()) for (const b of boxes.slice(i + 1)) expect(touches(a, b), `${a.box.name} over ${b.box.name}`).toBe(false);
});

test.each(Object.entries(models))("in columns every edge of %s still runs from the foot of its producer to the head of its reader, and through no box", (_, json) => {
  const scene = wrapped(json, WINDOW);
  for (const { edge, points } of scene.edges.filter((one) => !one.edge.isStub)) {
    const [from, to] = [scene.boxes[edge.from], scene.boxes[edge.to]];
    expect(points[1]).toBeCloseTo((from?.y ?? 0) + (from?.height ?? 0), 3);
    expect(points[points.length - 1]).toBeCloseTo(to?.y ?? 0, 3);
    for (let i = 2; i < points.length; i += 2) {
      const [x0 = 0, y0 = 0, x1 = 0, y1 = 0] = points.slice(i - 2, i + 2);
      if (y1 >= y0) continue; // Only the way up, from one column to the next, was added here.
      const way = { x: x0, y: y1, width: x1 - x0, height: y0 - y1 };
      expect(scene.drawn.filter((box) => touches(box, way)).map((box) => box.box.name)).toEqual([]);
    }
  }
});

test.each(Object.entries(models))("in columns the way to the next one runs below the labels of %s", (_, json) => {
  const scene = wrapped(json, WINDOW);
  for (const { points, label } of scene.edges)
    for (let i = 2; i < points.length; i += 2) {
      const [x0 = 0, y0 = 0, x1 = 0, y1 = 0] = points.slice(i - 2, i + 2);
      if (label && y0 === y1 && x1 > x0) expect(Math.abs(y0 - label.y)).toBeGreaterThan(18);
    }
});

test("boxes stay in the order of the model: down a column, then on at the head of the next", () => {
  const scene = wrapped(chain(), { width: 1000, height: 90 });
  const { drawn } = scene;
  expect(leadOf(scene).width).toBeLessThan(1000);
  for (const [i, box] of drawn.slice(1).entries()) {
    const before = drawn[i];
    expect(before && (box.y > before.y || box.x > before.x + before.width)).toBe(true);
  }
});
