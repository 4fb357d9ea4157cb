import { describe, expect, test } from "vitest";
import { cutBetween, describe as inText, describeGroup, everyNode, isSame, keepTogether, namesIn, pinExactly, pinNodes, regrouped, vetoCandidate, vetoLocation, vetoNodes } from "./constraints";

describe("constraints", () => {
  test("read as words", () => {
    expect(inText(pinNodes(["conv1"], "tvm"))).toBe("pin conv1 to tvm");
    expect(inText(pinExactly(["conv1", "relu1"], "tvm"))).toBe("pin exactly conv1 + relu1 to tvm");
    expect(inText(vetoNodes(["a", "b", "c", "d"], "tvm"))).toBe("veto tvm for a … d (4 nodes)");
    expect(inText(vetoCandidate("ab12"), (id) => (id === "ab12" ? "Conv of tvm" : undefined))).toBe("veto Conv of tvm");
    expect(inText({ kind: "veto", op: "Softmax", target: "openvino" })).toBe("veto openvino for every Softmax");
    expect(inText({ kind: "veto", target: "openvino" })).toBe("veto openvino for the whole model");
    expect(inText({ kind: "cut", between: ["a", "b"] })).toBe("cut between a and b");
    expect(inText(vetoLocation("cuda:0"))).toBe("veto cuda:0 for the whole model");
  });
  test("without a target, by operator, by name and together read as words", () => {
    expect(inText(keepTogether(["a", "b"]))).toBe("keep a + b together");
    expect(inText({ ...keepTogether(["a", "b"]), exact: true })).toBe("keep a + b together, with nothing else");
    expect(inText({ ...keepTogether(["a", "b"]), target: "tvm" })).toBe("pin a + b to tvm, together");
    expect(inText(everyNode("pin", "op", "Conv", "tvm"))).toBe("pin every Conv to tvm");
    expect(inText(everyNode("veto", "name", "enc/*", "tvm"))).toBe("veto tvm for every node named enc/*");
  });
  test("of one decision read as one", () => {
    expect(describeGroup([cutBetween("a", "b")])).toBe("cut between a and b");
    expect(describeGroup([cutBetween("a", "b"), cutBetween("b", "c")])).toBe("cut between a and b, and 1 more");
    expect(describeGroup([pinExactly(["a"], "t"), pinExactly(["b"], "t"), pinExactly(["c"], "t")])).toBe("pin exactly a to t, and 2 more like it");
    expect(namesIn(cutBetween("a", "b"))).toEqual(["a", "b"]);
  });
  test("of a run are grouped where they say the same of other nodes", () => {
    const same = [pinExactly(["a", "b"], "t"), pinExactly(["c", "d"], "t")];
    expect(regrouped([...same, pinExactly(["e"], "t"), vetoNodes(["a"], "t"), vetoNodes(["b"], "t")]).map((group) => group.length)).toEqual([2, 1, 1, 1]);
  });
  test("are the same whatever the order of their keys", () => {
    expect(isSame({ kind: "veto", target: "a" }, { target: "a", kind: "veto" })).toBe(true);
    expect(isSame(pinNodes(["x"], "a"), pinExactly(["x"], "a"))).toBe(false);
  });
});
