import { expect, test } from "vitest";
import { Coverage, Pixels, type Projection } from "./pixels";

const SIZE = { width: 6, height: 4 };
const AS_IT_IS = { scale: 1, left: 0, top: 0 };

function begun(projection: Projection = AS_IT_IS, size = SIZE): Pixels {
  const pixels = new Pixels(size);
  pixels.begin(projection, "#000000");
  return pixels;
}

/** How red each pixel is, 0 to 255, row by row. */
function reds({ bytes, size }: Pixels): number[][] {
  return Array.from({ length: size.height }, (_, row) => Array.from({ length: size.width }, (_, column) => bytes[4 * (row * size.width + column)] ?? 0));
}

function drawn(pixels: Pixels): string[] {
  return reds(pixels).map((row) => row.map((red) => (red > 0 ? "#" : ".")).join(""));
}

function filled(x: number, y: number, width: number, height: number, projection = AS_IT_IS): string[] {
  const pixels = begun(projection);
  pixels.fill("#ff0000", { x, y, width, height });
  return drawn(pixels);
}

test("a picture begins in one opaque colour, also over an older one", () => {
  const pixels = begun();
  pixels.fill("#ff0000", { x: 0, y: 0, width: 6, height: 4 });
  pixels.begin(AS_IT_IS, "#102030");
  expect([...pixels.bytes.subarray(0, 8)]).toEqual([16, 32, 48, 255, 16, 32, 48, 255]);
});

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

test("a rectangle can be larger than it is, and let through what is below", () => {
  const pixels = begun();
  pixels.fill("#ffffff", { x: 2, y: 1, width: 1, height: 1 }, 0.5, 1);
  const half = expect.closeTo(128, -0.5) as number;
  expect(reds(pixels)).toEqual([[0, half, half, half, 0, 0], [0, half, half, half, 0, 0], [0, half, half, half, 0, 0], [0, 0, 0, 0, 0, 0]]);
});

test("each channel is mixed by itself", () => {
  const pixels = begun();
  pixels.fill("#ff00ff", { x: 0, y: 0, width: 6, height: 4 });
  pixels.fill("#00ff00", { x: 0, y: 0, width: 6, height: 4 }, 0.25);
  expect([...pixels.bytes.subarray(0, 4)].map((value) => Math.round(value / 8))).toEqual([24, 8, 24, 32]);
});

test("a frame goes around a rectangle and leaves it as it is", () => {
  const pixels = begun();
  pixels.frame("#ff0000", { x: 3, y: 2, width: 1, height: 1 }, 0, 1);
  expect(drawn(pixels)).toEqual(["......", "..###.", "..#.#.", "..###."]);
});

/** How much of each pixel these curves cover, 0 to 255, row by row. */
function covered(width: number, size: typeof SIZE, ...curves: number[][]): number[][] {
  const coverage = new Coverage(size, AS_IT_IS);
  for (const points of curves) coverage.add(Float64Array.from(points), width);
  return Array.from({ length: size.height }, (_, row) => [...coverage.shares.subarray(row * size.width, (row + 1) * size.width)]);
}

test("a straight edge covers each pixel by the share that it takes of it", () => {
  expect(covered(1, SIZE, [2.5, 1, 2.5, 4])).toEqual([[0, 0, 0, 0, 0, 0], ...Array<number[]>(3).fill([0, 0, 255, 0, 0, 0])]);
  expect(covered(0.5, SIZE, [5, 0, 5, 2])[0]).toEqual([0, 0, 0, 0, 63, 63]);
});

test("an edge with a point in every row is one line, and turns where its points do", () => {
  expect(covered(1, SIZE, [1.5, 0, 1.5, 1, 1.5, 2, 1.5, 4])).toEqual(covered(1, SIZE, [1.5, 0, 1.5, 4]));
  const turning = covered(1, SIZE, [1.5, 0, 1.5, 1, 1.5, 2, 4.5, 4]);
  expect(turning[0]).toEqual([0, 255, 0, 0, 0, 0]);
  expect(turning[3]?.[4]).toBeGreaterThan(0);
});

test("where two edges cross they cover no more than one", () => {
  expect(covered(0.5, SIZE, [2.5, 0, 2.5, 4], [2.5, 0, 2.5, 4])[0]?.[2]).toBe(127);
});

test("lines are drawn with the opacity that they are given, on what is there", () => {
  const pixels = begun();
  const coverage = new Coverage(SIZE, AS_IT_IS);
  coverage.add(Float64Array.of(2.5, 0, 2.5, 4), 1);
  pixels.draw(coverage, "#ff0000", 0.5);
  expect(reds(pixels)[0]).toEqual([0, 0, expect.closeTo(128, -0.5), 0, 0, 0]);
});

test("a curve leads from end to end without a gap, and outside the image nothing is covered", () => {
  const rows = covered(1, { width: 40, height: 30 }, [2, 0, 38, 30], [-50, -20, -5, 60, 90, 10]);
  const columns = rows.map((row) => row.flatMap((share, at) => (share > 0 ? [at] : [])));
  columns.slice(1).forEach((here, i) => {
    expect(here.some((at) => columns[i]?.some((above) => Math.abs(above - at) <= 1))).toBe(true);
  });
});
