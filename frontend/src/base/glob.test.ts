import { expect, test } from "vitest";
import { globExpression, suggestedPattern } from "./glob";

// The expected results are those of Python's fnmatch.fnmatchcase.
test.each([
  ["conv1", "conv1", true],
  ["conv1", "Conv1", false],
  ["conv*", "conv", true],
  ["conv*", "conv1/relu", true],
  ["*relu", "conv1\nrelu", true],
  ["conv?", "conv", false],
  ["conv?", "conv7", true],
  ["conv[12]", "conv2", true],
  ["conv[1-3]", "conv3", true],
  ["conv[!1-3]", "conv3", false],
  ["conv[!1-3]", "conv4", true],
  ["a[]]b", "a]b", true],
  ["a[b", "a[b", true],
  ["a[]b", "a[]b", true],
  ["a[3-1]", "a2", false],
  ["a.b", "axb", false],
  ["a(b)+{c}|^$", "a(b)+{c}|^$", true],
  ["encoder/*/attn/*", "encoder/layer.3/attn/MatMul", true],
  ["[.-/]x", "/x", true],
  ["", "", true],
])("%j on %j is %j", (pattern, name, expected) => {
  expect(globExpression(pattern).test(name)).toBe(expected);
});

test("a name suggests a pattern that it fits", () => {
  expect(suggestedPattern("encoder/layer.11/MatMul_3")).toBe("encoder/layer.*/MatMul_*");
  for (const name of ["conv1", "a[0]*?", "Relu:x[1]"]) expect(globExpression(suggestedPattern(name)).test(name)).toBe(true);
});
