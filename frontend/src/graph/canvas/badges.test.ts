import { expect, test } from "vitest";
import type { Hull } from "../scene/hulls";
import { drawBadges } from "./badges";
import { detailAt } from "./detail";
import type { Drawing } from "./drawing";

/** The ends of the badge of a hull of this width that begins at `x`, on a screen of 390 pixels, from near or from far. */
function badgeOf(x: number, width: number, isFar = false): [number, number] {
  const drawn: [number, number][] = [];
  const context = {
    measureText: () => ({ width: 90 }),
    beginPath: () => undefined,
    fill: () => undefined,
    fillText: () => undefined,
    roundRect: (left: number, _: number, wide: number) => drawn.push([left, left + wide]),
  };
  const rect = { x, y: 100, width, height: 300 };
  const hull = { anchor: rect, bounds: rect, partition: { cost_s: 1 } } as unknown as Hull;
  const frame = { camera: { k: 1, x: 0, y: 0 }, paint: () => ({ badge: "#000", badgeText: () => "N 12.0 ms" }) };
  drawBadges({ context, frame, screen: { width: 390, height: 800 }, toScreen: () => undefined } as unknown as Drawing, [hull], detailAt(isFar ? 0.05 : 1));
  return drawn[0] ?? [NaN, NaN];
}

test("a badge begins with its hull, and where that begins left of the screen, at the side of the screen", () => {
  expect(badgeOf(40, 400)).toEqual([39.5, 139.5]);
  expect(badgeOf(-80, 400)).toEqual([4, 104]);
});

test("a badge ends with its hull, however little of that can be seen", () => {
  expect(badgeOf(-380, 400)[1]).toBe(20);
});

test("a badge beside a hull ends at the side of the screen at the latest", () => {
  expect(badgeOf(40, 100, true)).toEqual([145, 243]);
  expect(badgeOf(40, 340, true)).toEqual([288, 386]);
});
