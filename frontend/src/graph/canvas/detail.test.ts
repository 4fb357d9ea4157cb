import { expect, test } from "vitest";
import { detailAt, showsElements, MOST_ELEMENTS, ramp } from "./detail";

const scales = Array.from({ length: 2000 }, (_, i) => Math.exp(-8 + (i / 2000) * 9.7));

test("detail fades: a zoom by half a percent changes nothing by more than three", () => {
  for (const [i, k] of scales.slice(1).entries()) {
    const [before, after] = [detailAt(scales[i] ?? 0), detailAt(k)];
    for (const key of Object.keys(after) as (keyof typeof after)[]) expect(Math.abs(after[key] - before[key])).toBeLessThan(0.03);
  }
});

test("from near everything is drawn, from afar coloured boxes on the partitions, and at last these alone", () => {
  expect(detailAt(1)).toEqual({ titles: 1, rows: 1, edgeLabels: 1, edges: 1, boxes: 1, hull: 0 });
  expect(detailAt(0.01)).toEqual({ titles: 0, rows: 0, edgeLabels: 0, edges: 0, boxes: 0, hull: 1 });
});

test("text comes only where the boxes that hold it are whole", () => {
  for (const k of scales) if (detailAt(k).titles > 0) expect(detailAt(k).boxes).toBe(1);
});

test("real elements are there where titles can be read, and never for too many boxes", () => {
  for (const k of scales) if (detailAt(k).titles > 0) expect(showsElements(k, MOST_ELEMENTS)).toBe(true);
  expect(showsElements(1, MOST_ELEMENTS + 1)).toBe(false);
});

test("a ramp is flat at both ends", () => {
  expect([ramp(0, 1, 2), ramp(1.5, 1, 2), ramp(9, 1, 2)]).toEqual([0, 0.5, 1]);
});
