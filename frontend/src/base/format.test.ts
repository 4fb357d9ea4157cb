import { expect, test } from "vitest";
import * as format from "./format";

test.each([
  [1.2345, "1.23 s"],
  [0.0203, "20.3 ms"],
  [0.0005, "0.50 ms"],
  [0.1234, "123 ms"],
  [84.2e-6, "84.2 µs"],
  [3.456e-6, "3.46 µs"],
  [1234, "1,234 s"],
  [3599.4, "3,599 s"],
  [5400, "1.50 h"],
  [1234567.8, "343 h"],
  [-1234567, "-343 h"],
  [0, "0 ms"],
  [-0, "0 ms"],
  [0.99996, "1.00 s"],
  [15.556000000000003, "15.6 s"],
  [-0.09659, "-96.6 ms"],
  [84.2e-9, "84.2 ns"],
  [3e-12, "3.00 ps"],
  [1e-15, "1.00 fs"],
  [1e-18, "0 fs"],
  [Infinity, "\u221e h"],
  [-Infinity, "-\u221e h"],
  [NaN, "? ms"],
])("%s seconds read %s", (seconds, text) => expect(format.duration(seconds)).toBe(text));

/** Numbers of every size, with noise in their last digits, the same in each run. */
function everySize(): number[] {
  let state = 7;
  const random = (): number => (state = (state * 48271) % 2147483647) / 2147483647;
  const sizes = Array.from({ length: 4000 }, (_, i) => (1 + 9 * random()) * 10 ** ((i % 34) - 17));
  const edges = [1, 3600, 1e25, 1e3, 0.1, 1e-3, 1e-4, 1e-6, 1e-7, 1e-9, 1e-10, 1e-12, 1e-13, 1e-15].flatMap((at) => [at, at * (1 - 1e-9), at * (1 + 1e-9), at * 0.9996, at * 1.0004]);
  return [...sizes, ...edges].flatMap((size) => [size, -size]);
}

test("a time of any size has a unit that suits it, at most three digits that say something, and no exponent", () => {
  const factors: Record<string, number> = { h: 3600, s: 1, ms: 1e-3, "\u00b5s": 1e-6, ns: 1e-9, ps: 1e-12, fs: 1e-15 };
  for (const seconds of everySize()) {
    const text = format.duration(seconds);
    const [, number = "", unit = ""] = /^(-?\d{1,3}(?:,\d{3})*(?:\.\d{1,2})?) (h|s|ms|\u00b5s|ns|ps|fs)$/.exec(text) ?? [];
    expect(number, `${seconds} reads ${text}`).not.toBe("");
    const shown = Number(number.replaceAll(",", "")) * (factors[unit] ?? NaN);
    expect(Math.abs(shown - seconds), `${seconds} reads ${text}`).toBeLessThanOrEqual(Math.max(0.051 * Math.abs(seconds), 0.0051e-15));
    if (unit !== "h") expect(Math.abs(Number(number.replaceAll(",", ""))), text).toBeLessThanOrEqual(unit === "s" ? 3600 : 1000);
    if (seconds > 0) expect(format.duration(-seconds)).toBe(text === "0 fs" ? text : `-${text}`);
    for (const other of [format.elapsed(seconds), format.signedDuration(seconds)]) {
      expect(other).not.toMatch(/\de[+-]?\d|\.\d{3}|NaN|undefined/);
    }
  }
});

test("counts and sizes of any size have neither exponents nor noise", () => {
  for (const value of everySize().filter((one) => one > 0)) {
    for (const text of [format.count(value), format.plain(value), format.bytes(value), format.operations(value), format.perSecond(value)]) {
      expect(text).not.toMatch(/\de[+-]?\d|NaN|undefined/);
      expect(text.replace(/\D/g, "").replace(/^0+|0+$/g, "").length, text).toBeLessThanOrEqual(Number.isInteger(value) ? 30 : Math.max(6, Math.round(value).toString().length));
    }
  }
  expect([0.1 + 0.2, 1e-7, 123456789, 1e21, -2.5e-9, 0].map(format.plain)).toEqual(["0.3", "0.0000001", "123456789", "1000000000000000000000", "-0.0000000025", "0"]);
  expect([12.000000000000002, 999.6, 999_600, -5000].map(format.bytes)).toEqual(["12 bytes", "1.00 kB", "1.00 MB", "-5.00 kB"]);
});

test("a wait that a wrong clock makes negative is still a time", () => {
  expect(format.elapsed(-75)).toBe("\u22121 min 15 s");
});

test.each([
  [0.00041, "+0.41 ms"],
  [-0.00041, "−0.41 ms"],
  [0, "±0 ms"],
  [1e-12, "±0 ms"],
])("a difference of %s seconds reads %s", (seconds, text) => expect(format.signedDuration(seconds)).toBe(text));

test("the uncertainty of a cost is a share of it, and empty where it is not known", () => {
  expect(format.plusMinus(0.01, 0.0002)).toBe("±2 %");
  expect(format.plusMinus(0.01, 0.00001)).toBe("±<1 %");
  expect(format.plusMinus(0.01, null)).toBe("");
  expect(format.plusMinus(null, 0.1)).toBe("");
});

test("shapes, sizes, errors and counts", () => {
  expect(format.shape([1, 64, 56, 56])).toBe("1×64×56×56");
  expect(format.shape([])).toBe("scalar");
  expect(format.shape([null, 3])).toBe("?×3");
  expect(format.bytes(97_800_000)).toBe("97.8 MB");
  expect(format.bytes(12)).toBe("12 bytes");
  expect(format.relativeError(4.1e-7)).toBe("4e-7");
  expect(format.relativeError(0)).toBe("0");
  expect(format.plural(1, "node")).toBe("1 node");
  expect(format.plural(1204, "node")).toBe("1,204 nodes");
});

test("attributes of every kind are one short line", () => {
  expect(format.attribute([3, 3])).toBe("3, 3");
  expect(format.attribute(0.0000001234567)).toBe("1.23457e-7");
  expect(format.attribute("NOTSET")).toBe("NOTSET");
  expect(format.attribute({ graph: "ab12", nodes: 3 })).toBe("graph of 3 nodes");
  expect(format.attribute({ tensor: "ab12" })).toBe("tensor");
});

test("a bound of a difference that proves nothing has no sign", () => {
  expect([0, 0.41e-3].map(format.atLeast)).toEqual(["≥ 0", "≥ +0.41 ms"]);
});
