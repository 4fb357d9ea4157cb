import { expect, test } from "vitest";
import { barsOf, type StripView } from "./strip";

const view = (colours: string[], hatched: number[] = []): StripView => ({
  count: colours.length,
  colours,
  hatched: new Set(hatched),
  lengths: Float32Array.from(colours, (_, i) => (i % 2 === 0 ? 0.25 : 0.75)),
  marks: new Map(),
});

test("few nodes are a bar each", () => {
  const bars = barsOf(view(["red", "red", "blue"], [1]), 4);
  expect(bars.map(({ top, high, share, colour, isHatched }) => [top, high, share, colour, isHatched])).toEqual([
    [0, 4, 0.25, "red", false],
    [4, 4, 0.75, "red", true],
    [8, 4, 0.25, "blue", false],
  ]);
});

test("nodes that share a pixel are a bar for each colour, as high as their share of it", () => {
  const bars = barsOf(view(["red", "blue", "red", "red", "red", "red"], [5]), 0.25);
  expect(bars.map(({ top, high, colour, isHatched }) => [top, high, colour, isHatched])).toEqual([
    [0, 0.75, "red", false],
    [0.75, 0.25, "blue", false],
    [1, 0.25, "red", false],
    [1.25, 0.25, "red", true],
  ]);
  expect(bars[0]?.share).toBeCloseTo((0.25 + 0.25 + 0.75) / 3);
});

test("however many nodes, the bars are as high together as the lines", () => {
  for (const line of [5, 1, 0.7, 0.07]) {
    const many = view(Array.from({ length: 1000 }, (_, i) => ["red", "blue", "green"][(i * i) % 3] ?? ""), [1, 2, 3]);
    const bars = barsOf(many, line);
    expect(bars.reduce((sum, bar) => sum + bar.high, 0)).toBeCloseTo(1000 * line);
    expect(bars.length).toBeLessThanOrEqual(line >= 1 ? 1000 : 1000 * line * 4 + 4);
  }
});
