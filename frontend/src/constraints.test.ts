import { describe, expect, test } from "vitest";
import { describe as inWords, isSame, pinExactly, pinNodes, vetoCandidate, vetoNodes } from "./constraints";

describe("constraints", () => {
  test("read as words", () => {
    expect(inWords(pinNodes(["conv1"], "tvm"))).toBe("pin conv1 to tvm");
    expect(inWords(pinExactly(["conv1", "relu1"], "tvm"))).toBe("pin exactly conv1 + relu1 to tvm");
    expect(inWords(vetoNodes(["a", "b", "c", "d"], "tvm"))).toBe("veto tvm for a … d (4 nodes)");
    expect(inWords(vetoCandidate("ab12"), (id) => (id === "ab12" ? "Conv of tvm" : undefined))).toBe("veto Conv of tvm");
    expect(inWords({ kind: "veto", op: "Softmax", target: "openvino" })).toBe("veto openvino for every Softmax");
    expect(inWords({ kind: "veto", target: "openvino" })).toBe("veto openvino for the whole model");
    expect(inWords({ kind: "cut", between: ["a", "b"] })).toBe("cut between a and b");
  });
  test("are the same whatever the order of their keys", () => {
    expect(isSame({ kind: "veto", target: "a" }, { target: "a", kind: "veto" })).toBe(true);
    expect(isSame(pinNodes(["x"], "a"), pinExactly(["x"], "a"))).toBe(false);
  });
});
