import { expect, test } from "vitest";
import { bothText, MEANING, timeText } from "./basis";

test("a time of a whole plan says which it is, and how far it may be off", () => {
  expect(timeText("predicted", 2e-3, 6e-5)).toBe("predicted 2.00 ms ±3 %");
  expect(timeText("measured", 2e-3)).toBe("measured 2.00 ms");
});

test("two compared totals have one basis, with its definition", () => {
  expect(bothText("measured")).toBe(`both measured: ${MEANING.measured}`);
});
