import { expect, test } from "vitest";
import { effectText } from "./effect_text";

const words = (alone: number | null, saves: number | null, refuses = 3): string => effectText({ alone_s: alone, saves_s: saves, refuses });

test("one figure where a term costs the same alone and beside the others", () => {
  expect(words(3e-4, 3e-4)).toBe("costs 0.30 ms");
});

test("two figures where the other terms change its cost", () => {
  expect(words(3e-4, 1e-4)).toBe("costs 0.30 ms alone; taking it back saves 0.10 ms");
  expect(words(3e-4, 0)).toBe("costs 0.30 ms alone; taking it back saves nothing, for the others ask for the same");
  expect(words(0, 1e-4)).toBe("costs nothing alone; taking it back saves 0.10 ms");
});

test("a term under which the sum of the costs is less than that of a plan that was measured faster", () => {
  expect(words(-3e-4, -3e-4)).toBe("\u22120.30 ms alone");
  expect(words(0, -1e-4)).toBe("costs nothing alone; taking it back costs 0.10 ms");
});

test("a term without an effect, or one that cannot hold, says so", () => {
  expect(words(0, 0)).toBe("no effect: the best plan holds it anyway");
  expect(words(0, 0, 0)).toBe("no effect: it forbids nothing that there is");
  expect(words(null, null)).toBe("cannot hold, even alone");
});

test("where no plan holds all terms, only the cost of the term alone is given", () => {
  expect(words(3e-4, null)).toBe("costs 0.30 ms");
});
