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
  [1234567.8, "1,234,568 s"],
  [-1234567, "-1,234,567 s"],
  [0, "0 ms"],
])("%s seconds read %s", (seconds, text) => expect(format.duration(seconds)).toBe(text));

test.each([
  [0.00041, "+0.41 ms"],
  [-0.00041, "−0.41 ms"],
  [0, "±0 ms"],
  [1e-12, "±0 ms"],
])("a difference of %s seconds reads %s", (seconds, text) => expect(format.signedDuration(seconds)).toBe(text));

test("a change is in one unit, that of the new value", () => {
  expect(format.changeInDuration(0.0226, 0.0203)).toBe("22.6 → 20.3 ms");
  expect(format.changeInDuration(0.0012, 84e-6)).toBe("1,200 → 84.0 µs");
});

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
  expect(format.speedUp(22.6, 20.3)).toBe("1.11×");
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
