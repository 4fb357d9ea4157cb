import { expect, test } from "vitest";
import { approximately, isSolid, sourceLabel } from "./cost_source";

test("only what was measured or replayed is solid, and what is a number of another kind says so", () => {
  expect(["measured", "recorded", "host", "estimate", "bound", "profile", "typed", "mock", "unknown"].filter(isSolid)).toEqual(["measured", "recorded", "host"]);
  expect(["measured", "bound", "estimate", "profile", "typed"].map(sourceLabel)).toEqual(["", " (a bound)", " (an estimate)", " (estimated from a profile)", " (typed in)"]);
  expect(["measured", "profile"].map(approximately)).toEqual(["", "≈ "]);
});
