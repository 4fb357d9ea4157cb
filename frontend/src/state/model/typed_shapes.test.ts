import { beforeEach, expect, test, vi } from "vitest";
import type { Source } from "./model";
import { forgetOpening, typedBefore, typeShape } from "./typed_shapes";

const source: Source = { kind: "path", path: "/models/two.onnx" };

beforeEach(() => {
  const kept = new Map<string, string>();
  vi.stubGlobal("localStorage", { getItem: (key: string) => kept.get(key) ?? null, setItem: (key: string, value: string) => kept.set(key, value) });
});

test("the shapes of one input after the other are sent together, and are suggestions the next time", () => {
  expect(typeShape(source, "x", ["1", "64"])).toEqual({ x: ["1", "64"] });
  expect(typeShape(source, "y", ["2"])).toEqual({ x: ["1", "64"], y: ["2"] });
  forgetOpening(source);
  expect(typedBefore(source, "x")).toEqual(["1", "64"]);
  expect(typeShape(source, "y", ["3"])).toEqual({ y: ["3"] });
  expect(typedBefore({ kind: "sample", name: "other" }, "x")).toBeUndefined();
});

test("what a storage holds that is no shape is no suggestion", () => {
  localStorage.setItem("collage.shapes./models/two.onnx", '{"x": [1], "y": "2", "z": ["3"]}');
  forgetOpening(source);
  expect(["x", "y", "z"].map((input) => typedBefore(source, input))).toEqual([undefined, undefined, ["3"]]);
});
