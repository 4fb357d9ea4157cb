import { expect, test } from "vitest";
import type { DevicePiece } from "../protocol";
import { marksOf, pointsOf } from "./device_curve";

const piece = (first: number, last: number, firstS: number, lastS = firstS): DevicePiece => ({ first, last, first_s: firstS, last_s: lastS, is_exact: true, nodes: [], copied: [], copied_bytes: 0 });

test("a piece is marked with what it holds: now, half or double", () => {
  expect(marksOf({ now: 100 }, 0, piece(0, 60, 2))).toEqual(["half"]);
  expect(marksOf({ now: 100 }, 0, piece(50, 200, 2))).toEqual(["half", "now", "double"]);
  expect(marksOf({ now: null }, 80, piece(80, 80, 2))).toEqual(["now"]);
});

test("sizes that were not searched are a gap", () => {
  expect(pointsOf({ quantity: "memory", pieces: [piece(0, 0, 4), piece(50, 100, 2)] }, 100, 40)).toEqual([[[0, 0], [0, 0]], [[50, 20], [100, 20]]]);
});

test("a memory is drawn as steps, a link by the logarithm of its speed", () => {
  expect(pointsOf({ quantity: "memory", pieces: [piece(0, 50, 4), piece(50, 100, 2)] }, 100, 40)).toEqual([[[0, 0], [50, 0], [50, 20], [100, 20]]]);
  const [[, turn] = []] = pointsOf({ quantity: "link", pieces: [piece(1 / 16, 1, 4, 3), piece(1, 16, 3, 1)] }, 100, 40);
  expect(turn?.[0]).toBeCloseTo(50);
  expect(turn?.[1]).toBeCloseTo(10);
});
