import { expect, test } from "vitest";
import { fillWords, SolidRects } from "./solid_rects";
import type { Context2d } from "./context_2d";

const SIZE = { width: 6, height: 4 };

function filled(x: number, y: number, width: number, height: number, projection = { scale: 1, left: 0, top: 0 }): string[] {
  const words = new Uint32Array(SIZE.width * SIZE.height);
  fillWords(words, SIZE, { x, y, width, height }, projection, 7);
  return Array.from({ length: SIZE.height }, (_, row) => [...words.subarray(row * SIZE.width, (row + 1) * SIZE.width)].map((word) => (word === 7 ? "#" : ".")).join(""));
}

test("a rectangle is filled where it is in the image, and nowhere else", () => {
  expect(filled(1, 1, 3, 2)).toEqual(["......", ".###..", ".###..", "......"]);
  expect(filled(-2, -2, 4, 3)).toEqual(["##....", "......", "......", "......"]);
  expect(filled(4, 2, 9, 9)).toEqual(["......", "......", "....##", "....##"]);
  expect(filled(8, 1, 3, 2).join("")).not.toContain("#");
  expect(filled(-9, 1, 3, 2).join("")).not.toContain("#");
});

test("the projection scales and moves it, and the smallest is one pixel", () => {
  expect(filled(10, 20, 30, 10, { scale: 0.1, left: 0, top: 1 })).toEqual(["......", ".###..", "......", "......"]);
  expect(filled(20, 10, 1, 1, { scale: 0.1, left: 0, top: 0 })).toEqual(["......", "..#...", "......", "......"]);
});

test("a few are filled one by one, in the order in which they were added", () => {
  const calls: string[] = [];
  const context = { fillStyle: "", fillRect: (...at: number[]) => calls.push(`${context.fillStyle} ${at.join()}`) };
  const rects = new SolidRects();
  rects.add("#f00", { x: 1, y: 2, width: 3, height: 4 });
  rects.add("#00f", { x: 0, y: 0, width: 1, height: 1 });
  rects.fill(context as unknown as Context2d, { scale: 1, left: 0, top: 0 });
  expect(calls).toEqual(["#f00 1,2,3,4", "#00f 0,0,1,1"]);
});
