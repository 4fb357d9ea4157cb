import { describe, expect, it } from "vitest";
import { baselineMeaning, baselineName, isAlone } from "./baselines";

describe("baselines", () => {
  it("are one target alone, what it leaves elsewhere, or greedy", () => {
    expect(["ncnn", "ncnn+host", "tvm@fusion:FuseOps", "greedy", "all shapes"].map(isAlone)).toEqual([true, false, false, false, false]);
    expect(["ncnn", "ncnn+host", "greedy"].map(baselineName)).toEqual(["ncnn alone", "ncnn+host", "greedy"]);
    expect(baselineMeaning("tvm@fusion:FuseOps")).toBe("tvm@fusion takes exactly the groups of nodes that FuseOps makes");
    expect(baselineMeaning("openvino@bf16+host")).toBe("only what openvino@bf16 must leave goes elsewhere");
    expect(baselineMeaning("ncnn")).toBe("");
  });
});
