import { expect, test } from "vitest";
import { shapeOf, typeOf } from "./tensors";

const tensor = { name: "x", shape: [null, 3], dtype: "float32" };

test("a dimension without a size has the symbol of the file, where it has one", () => {
  expect(typeOf(tensor)).toBe("?×3 float32");
  expect(typeOf({ ...tensor, symbols: ["N", "3"] })).toBe("N×3 float32");
});

test("what the file does not say is no shape and no type", () => {
  const unknown = { name: "x", shape: [null], dtype: "undefined", symbols: ["…"] };
  expect(shapeOf(unknown)).toBe("…");
  expect(typeOf(unknown)).toBe("…");
  expect(typeOf({ name: "s", shape: [], dtype: "seq(tensor(float))" })).toBe("seq(tensor(float))");
});
