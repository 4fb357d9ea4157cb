import { expect, test } from "vitest";
import { targetLines } from "./target_lines";

test("targets that come in, stay and leave, with what they bring", () => {
  const row = { target: "tvm", nodes: 0, nodes_before: 0, untimed: 0, brings_s: null };
  expect(targetLines([row])).toEqual([]);
  expect(targetLines([{ ...row, nodes: 2, brings_s: 3e-4, untimed: 1 }]).map((one) => one.words)).toEqual([
    "tvm comes in with 2 nodes, and brings 0.30 ms",
    "tvm: 1 candidate is accurate enough now and not timed",
  ]);
  expect(targetLines([{ ...row, nodes: 2, nodes_before: 5 }])).toEqual([{ target: "tvm", words: "tvm has 2 nodes, 5 before" }]);
  expect(targetLines([{ ...row, nodes: 5, nodes_before: 5, brings_s: 1e-3 }])[0]?.words).toBe("tvm has 5 nodes as before, and brings 1.00 ms");
  expect(targetLines([{ ...row, nodes_before: 5 }])[0]?.words).toBe("tvm is out: it had 5 nodes");
});
