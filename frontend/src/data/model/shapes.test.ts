import { expect, test } from "vitest";
import { parseShapes } from "./shapes";

test("shapes as they are typed", () => {
  expect(parseShapes("x=1,3,224,224")).toEqual({ x: [1, 3, 224, 224] });
  expect(parseShapes("a:0=1x128; b/c=2×4")).toEqual({ "a:0": [1, 128], "b/c": [2, 4] });
  expect(parseShapes("")).toEqual({});
  for (const text of ["x", "x=", "=1,2", "x=1,two", "x=0,3", "x=1.5"]) expect(parseShapes(text)).toBeNull();
});
