import { describe, expect, test } from "vitest";
import { cost, invalid, nodesOf, row } from "../../../test/candidates";
import { EVERYTHING, filteredRows, isFiltering, operatorsOf, orderedRows, reorderedRows, type ColumnId, type Filter } from "./candidate_rows";

const NODES = nodesOf("Conv", "Relu", "MaxPool", "Conv", "Add", "Softmax");
const ROWS = [
  row("a", "tvm", [0, 1], { cost: cost({ seconds: 3e-3, interval_s: 3e-4 }), chosen: true, regret_s: 0 }),
  row("b", "openvino", [0, 3], { cost: cost({ seconds: 5e-3, interval_s: 1e-5 }), regret_s: 2e-5 }),
  row("c", "tvm", [5, 5], { cost: invalid("import", "no Softmax here") }),
  row("d", "openvino", [2, 2, 4, 4], { cost: cost({ seconds: 1e-3, source: "estimate", interval_s: null, samples: 0 }), regret_s: 0, times: 3 }),
  row("e", "tvm", [3, 3], { cost: cost({ seconds: 2e-3, interval_s: null, samples: 1 }), in_no_plan: true }),
];

const kept = (change: Partial<Filter>): string => filteredRows(ROWS, { ...EVERYTHING, ...change }, NODES, 3e-3).map(({ id }) => id).join("");
const by = (column: ColumnId, isDown = false): string => orderedRows(ROWS, { by: column, isDown }, NODES).map(({ id }) => id).join("");

test("a filter keeps the matching rows in their order", () => {
  expect(kept({})).toBe("abcde");
  expect(kept({ target: "tvm" })).toBe("ace");
  expect(kept({ operator: " conv " })).toBe("abe");
  expect(kept({ operator: "Add" })).toBe("d");
  expect(kept({ operator: "nothing" })).toBe("");
  expect(kept({ validity: "invalid" })).toBe("c");
  expect(kept({ validity: "valid" })).toBe("abde");
  expect(kept({ validity: "chosen" })).toBe("a");
  expect(kept({ source: "estimate" })).toBe("d");
  expect(kept({ target: "tvm", operator: "conv", validity: "valid" })).toBe("ae");
});

test("regret is a share of the total; an invalid candidate has none", () => {
  expect(kept({ regret: "none" })).toBe("ad");
  expect(kept({ regret: 0.01 })).toBe("abd");
  expect(kept({ regret: 0.001 })).toBe("ad");
  expect(kept({ regret: "in-no-plan" })).toBe("e");
  expect(kept({ regret: "unknown" })).toBe("");
  expect(filteredRows([row("f", "tvm", [0, 0])], { ...EVERYTHING, regret: "unknown" }, NODES, 1)).toHaveLength(1);
});

test("a filter that leaves nothing out is recognised", () => {
  expect(isFiltering(EVERYTHING)).toBe(false);
  expect(isFiltering({ ...EVERYTHING, regret: 0.1 })).toBe(true);
});

describe("the order", () => {
  test.each<[ColumnId, string, string]>([
    ["target", "bdace", "acebd"],
    ["nodes", "ceadb", "badce"],
    ["times", "abced", "dabce"],
    ["cost", "deabc", "baedc"],
    ["samples", "cdeab", "abecd"],
    ["source", "dcabe", "abecd"],
    ["regret", "adbec", "ebadc"],
    ["operators", "eabdc", "cdbae"],
  ])("by %s is %s, and down %s", (column, up, down) => {
    expect(by(column)).toBe(up);
    expect(by(column, true)).toBe(down);
  });
  test("rows without a value are at the end in both directions", () => {
    expect(by("spread")).toBe("bacde");
    expect(by("spread", true)).toBe("abcde");
    expect(by("reason").startsWith("c")).toBe(true);
    expect(by("reason", true).startsWith("c")).toBe(true);
  });
  test("choosing a header again reverses the order; a new one starts with the direction that is worth seeing", () => {
    expect(reorderedRows({ by: "cost", isDown: true }, "cost")).toEqual({ by: "cost", isDown: false });
    expect(reorderedRows({ by: "cost", isDown: true }, "regret")).toEqual({ by: "regret", isDown: false });
    expect(reorderedRows({ by: "target", isDown: false }, "samples")).toEqual({ by: "samples", isDown: true });
  });
});

test("operators are named in few words", () => {
  expect(operatorsOf([0, 1], NODES)).toBe("Conv + Relu");
  expect(operatorsOf([2, 2, 4, 4], NODES)).toBe("MaxPool + Add");
  expect(operatorsOf([0, 5], NODES)).toBe("Conv … Softmax");
});

test("ten thousand rows of a thousand nodes are filtered and ordered without being unfolded", () => {
  const nodes = nodesOf(...Array.from({ length: 2000 }, (_, i) => (i === 1999 ? "Rare" : "Conv")));
  const many = Array.from({ length: 10_000 }, (_, i) => row(`r${i}`, "tvm", [i % 1000, 999 + (i % 1001)], { cost: cost({ seconds: i / 1e6 }) }));
  const rare = filteredRows(many, { ...EVERYTHING, operator: "rare" }, nodes, 1);
  expect(rare.map(({ id }) => id)).toEqual(many.filter((_, i) => i % 1001 === 1000).map(({ id }) => id));
  expect(orderedRows(many, { by: "cost", isDown: true }, nodes)[0]?.id).toBe("r9999");
});
