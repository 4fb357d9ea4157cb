import { expect, test } from "vitest";
import { scrolledTo, windowOf } from "./row_window";

test("the rows in view are drawn, and the room above and below stands for the others", () => {
  for (const count of [0, 1, 5, 30, 5000]) {
    for (const top of [0, 13, 26, 500, 64_987, 129_700, 10_000_000]) {
      const view = windowOf(count, 26, top, 260);
      expect(view.above + view.below + (view.end - view.first) * 26).toBe(count * 26);
      expect(view.first).toBeGreaterThanOrEqual(0);
      expect(view.end).toBeLessThanOrEqual(count);
      expect(view.end - view.first).toBeLessThan(40);
      const seen = [Math.floor(top / 26), Math.floor((top + 259) / 26)].filter((row) => row < count);
      for (const row of seen) expect(row >= view.first && row < view.end).toBe(true);
    }
  }
});

test("scrolling to a row moves as little as possible", () => {
  expect(scrolledTo(3, 26, 0, 260)).toBe(0);
  expect(scrolledTo(10, 26, 0, 260)).toBe(26);
  expect(scrolledTo(2, 26, 520, 260)).toBe(52);
});
