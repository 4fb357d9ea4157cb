import { expect, test } from "vitest";
import { chain } from "../../../test/graphs";
import { nodeOf } from "./match";

const { nodes } = chain();
const [first, second] = nodes;
const folded = [
  { name: "norm", op: "BatchNormalization", into: second?.name ?? "" },
  { name: "shape", op: "Shape", into: null },
  { name: "gone", op: "Identity", into: "nobody" },
];

test("a node is found by the tensors that it makes, whatever its name is", () => {
  expect(nodeOf({ outputs: [second?.outputs[0]?.name ?? ""], name: "another name" }, nodes, folded)).toBe(second?.id);
  expect(nodeOf({ outputs: ["unread", first?.outputs[0]?.name ?? ""], name: "" }, nodes, folded)).toBe(first?.id);
});

test("a folded node is found as the node that it was folded into; a removed one is not found", () => {
  expect(nodeOf({ outputs: ["its own"], name: "norm" }, nodes, folded)).toBe(second?.id);
  for (const name of ["shape", "gone", "unheard of", ""]) expect(nodeOf({ outputs: ["its own"], name }, nodes, folded)).toBeUndefined();
  expect(nodeOf({ outputs: [], name: "" }, nodes, folded)).toBeUndefined();
});
