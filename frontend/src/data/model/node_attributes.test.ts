import { expect, test } from "vitest";
import type { NodeJson, OperatorDefinition } from "../protocol";
import { attributesOf } from "./node_attributes";

const node = { attributes: { axis: 1, own: "x" } } as unknown as NodeJson;
const definition = {
  attributes: [
    { name: "alpha", type: "float", required: false, default: "0.01", doc: "Slope." },
    { name: "axis", type: "int", required: false, default: "0", doc: "Axis." },
    { name: "pads", type: "ints", required: false, default: "", doc: "" },
  ],
} as unknown as OperatorDefinition;

test("a node's attributes come first, then the defaults of those that it does not say", () => {
  expect(attributesOf(node, definition)).toEqual([
    { name: "axis", text: "1", type: "int", isDefault: false, doc: "Axis." },
    { name: "own", text: "x", type: "", isDefault: false, doc: "" },
    { name: "alpha", text: "0.01", type: "float", isDefault: true, doc: "Slope." },
  ]);
});

test("an unknown operator has the attributes of the node alone", () => {
  expect(attributesOf(node, undefined).map(({ name }) => name)).toEqual(["axis", "own"]);
});
