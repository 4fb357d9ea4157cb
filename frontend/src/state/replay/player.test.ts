import { expect, test } from "vitest";
import { stepAfter } from "./player";

test("playing passes every step in its turn", () => {
  expect([0, 0.05, 0.1, 0.35, 1].map((seconds) => stepAfter(7, seconds, 10, false))).toEqual([7, 7, 8, 10, 17]);
});

test("where motion is not wanted the picture changes once a second, and playing takes as long", () => {
  expect([0, 0.9, 1, 1.9, 2].map((seconds) => stepAfter(7, seconds, 10, true))).toEqual([7, 7, 17, 17, 27]);
});
