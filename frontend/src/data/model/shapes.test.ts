import { expect, test } from "vitest";
import type { ModelInfo } from "../protocol";
import { dimensionsOf, sizeMistake, wantedShape } from "./shapes";

const asked = (message: string, hint: string): ReturnType<typeof wantedShape> => wantedShape({ code: "open_shape", message, hint });

test("the form has a field for each dimension, by its symbol, with a likely size", () => {
  expect(asked("input 'in:0' [N, 3, ?, width] has the dynamic dimension 2", "say its shape, such as --shape in:0=1,3,640,640")).toEqual({
    input: "in:0",
    isRankKnown: true,
    dimensions: [
      { label: "N", guess: "1", isFixed: false },
      { label: "3", guess: "3", isFixed: true },
      { label: "?", guess: "640", isFixed: false },
      { label: "width", guess: "640", isFixed: false },
    ],
  });
  expect(asked("input 'x' has no shape", "give it one, such as --shape x=1,8")?.dimensions).toEqual([
    { label: "?", guess: "1", isFixed: false },
    { label: "?", guess: "8", isFixed: false },
  ]);
  expect(asked("the file is damaged", "")).toBeNull();
});

test("an input may have any name, and other inputs may be dynamic, too", () => {
  const hint = `say the shapes of the inputs, such as --shape 'in [a] "b" '"'"'c'"'"'=d=1,128' --shape m=1,128`;
  expect(asked(`input "in [a] \\"b\\" 'c'=d" [N, t] has the dynamic dimension 1 ('t')`, hint)).toEqual({
    input: `in [a] "b" 'c'=d`,
    isRankKnown: true,
    dimensions: [
      { label: "N", guess: "1", isFixed: false },
      { label: "t", guess: "128", isFixed: false },
    ],
  });
});

test("a size that is none says why", () => {
  expect(["", " ", "two", "1.5", "0", "-3", "16"].map(sizeMistake)).toEqual([
    "a size is missing",
    "a size is missing",
    "two is no whole number",
    "1.5 is no whole number",
    "a size is at least 1",
    "a size is at least 1",
    "",
  ]);
});

test("a model that was opened keeps the symbols of its dimensions, and which of them are fixed", () => {
  const inputs = [{ name: "x", shape: [1, 64], dtype: "float32" }];
  const of = (dimensions: ModelInfo["dimensions"]): unknown => dimensionsOf({ inputs, dimensions } as unknown as ModelInfo, "x");
  expect(of({ x: ["1", "width"] })).toEqual([
    { label: "1", guess: "1", isFixed: true },
    { label: "width", guess: "64", isFixed: false },
  ]);
  const unknown = ["1", "64"].map((guess) => ({ label: "?", guess, isFixed: false }));
  expect(of({})).toEqual(unknown);
  expect(of({ x: ["1"] })).toEqual(unknown);
});
