import { expect, test } from "vitest";
import { isSolid, sourceLabel } from "./cost_source";

test("only what was measured or replayed is solid, and what is a number of another kind says so", () => {
  expect(["measured", "recorded", "host", "estimate", "bound", "typed", "mock", "unknown"].filter(isSolid)).toEqual(["measured", "recorded", "host"]);
  expect(["measured", "bound", "estimate", "typed"].map(sourceLabel)).toEqual(["", " (a bound)", " (an estimate)", " (typed in)"]);
});
