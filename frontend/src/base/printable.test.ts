import { expect, test } from "vitest";
import { printable } from "./printable";

test("what prints stays, in any script, and so do line ends and tabs", () => {
  for (const text of ["", "conv1/weight:0", "64×3 → ⟨7⟩ µs", "模型 מודל ⚠", "two\nlines\tand a tab"]) expect(printable(text)).toBe(text);
});

// The right sides are those of Python's `unicode_escape`.
test.each([
  ["safe\u202egnp.exe", "safe\\u202egnp.exe"],
  ["\u2066a\u2069", "\\u2066a\\u2069"],
  ["\x1b[2J", "\\x1b[2J"],
  ["a\rb\u0000", "a\\rb\\x00"],
  ["no\u00a0break", "no\\xa0break"],
  ["zero\u200bwidth\ufeff", "zero\\u200bwidth\\ufeff"],
  ["tag\u{e0041}", "tag\\U000e0041"],
  ["half\ud800", "half\\ud800"],
])("%j is shown as %j", (text, shown) => expect(printable(text)).toBe(shown));
