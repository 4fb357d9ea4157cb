import { expect, test } from "vitest";
import { parseAccuracy } from "./run";

test.each([
  ["", null],
  ["1e-3", 1e-3],
  [" 0.02 ", 0.02],
  ["2", undefined],
  ["-1", undefined],
  ["tight", undefined],
])("the accuracy %j is read as %s", (text, value) => expect(parseAccuracy(text)).toBe(value));
