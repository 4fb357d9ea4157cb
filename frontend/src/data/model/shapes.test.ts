import { expect, test } from "vitest";
import { sizeMistake, wantedShape } from "./shapes";

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
