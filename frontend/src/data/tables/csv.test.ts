import { expect, test } from "vitest";
import { cost, invalid, nodesOf, row } from "../../../test/candidates";
import { partition, planTime, runSnapshot, runSummary, twoPlans, twoRegions } from "../../../test/runs";
import { differenceOf } from "../overlays/difference";
import { comparedCsv, costsCsv, partitionsCsv, runsCsv, totalsCsv } from "./csv";

const NODES = nodesOf("Conv", "Relu", "MaxPool");
const lines = (text: string): string[] => text.trimEnd().split("\r\n");

test("partitions have their nodes by name and their share, and transitions follow", () => {
  const plan = { total_s: 4e-3, partitions: [partition("tvm", [0, 1], 1e-3)], transitions: [{ from: "tvm", to: "host", tensor: "=cmd", bytes: 4, cost_s: 3e-3 }], total_interval_s: null };
  const [header, first, transition, ...rest] = lines(partitionsCsv(plan.partitions, plan, NODES));
  expect(header).toBe("target,operators,nodes,count,cost_s,interval_s,spread_s,share_of_predicted,samples,source,stability,id");
  expect(first).toBe("tvm,Conv+Relu,conv0;relu1,2,0.001,0.00002,0.00002,0.25,12,measured,1,tvm-0-1");
  expect(transition).toBe("tvm to host,transition,'=cmd,,0.003,,,0.75,,,,");
  expect(rest).toEqual([]);
});

test("totals are of the plan and of every baseline, with the reason where there is none", () => {
  const rows = [
    { name: "this plan", kind: "plan", time: planTime({ predicted_s: 2e-3 }), rounds: 0, reason: "", against: "" },
    { name: "tvm", kind: "baseline", time: planTime(), rounds: 0, reason: "cannot take every node", against: "" },
  ] as const;
  const text = totalsCsv({ run: "r1", decision: "", rows: [...rows] }, null);
  expect(lines(text).slice(1)).toEqual(["this plan,0.002,,,,,,", "tvm alone,,,,,,,cannot take every node"]);
});

test("runs have a column for every target that occurs, and no formula", () => {
  const text = runsCsv([runSummary("a", { name: "=HYPERLINK(1)", note: 'say "hi",\nthen go' }), runSummary("b", { by_target: { openvino: 1 }, options: { search: "greedy", time_limit_s: 5 } })]);
  const [header] = lines(text);
  expect(header).toContain("base,options,predicted_s,onnxruntime_s,openvino_s,tvm_s,transitions_s");
  expect(text).toContain("a,'=HYPERLINK(1),false,\"say \"\"hi\"\",\nthen go\",chain");
  const apart = { measured_s: 7e-3, additive_error_s: null, max_rel_error: 0, accuracy: 1, reference: "", errors: {}, interval_s: null, explained_s: null, apart: true, gap: "" };
  expect(lines(runsCsv([runSummary("c", { measured_s: null, verify: apart })]))[1]).toMatch(/,true,,0,true$/);
  expect(lines(runsCsv([runSummary("c", { measured_s: 2e-3, verify: apart })]))[1]).toMatch(/,true,0.002,0,true$/);
  expect(text).toContain(",time limit (s) 5; search greedy,");
});

test("a comparison has a line for each region, and one for the transitions", () => {
  const [plan, against] = [runSnapshot().plan, { total_s: 3e-3, partitions: [partition("tvm", [0, 1, 2], 3e-3)], transitions: [], total_interval_s: null }];
  if (!plan) throw new Error("no plan");
  const [, region, transitions] = lines(comparedCsv(differenceOf(plan, against, twoPlans([twoRegions("moved", [0, 1, 2], plan.partitions.map(({ id }) => id), ["tvm-0-1-2"], [2e-3, 3e-3])])), NODES));
  expect(region).toBe("moved,Conv+Relu+MaxPool,conv0;relu1;maxpool2,3,tvm;onnxruntime,2,0.002,tvm,1,0.003,-0.001");
  expect(transitions).toMatch(/^transition,/);
});

test("the table of costs has a line for each candidate, in seconds, with its nodes by name", () => {
  const rows = [
    row("x1", "tvm", [0, 1, 3, 3], { chosen: true, regret_s: 0, times: 2, cost: cost({ seconds: 0.25, interval_s: 0.02, spread_s: 0.01 }) }),
    row("x2", "openvino", [2, 2], { in_no_plan: true, cost: invalid("build", 'it says "no", twice') }),
  ];
  const lines = costsCsv(rows, nodesOf("Conv", "Relu", "Gemm", "Add")).split("\r\n");
  expect(lines[0]).toBe("target,operators,nodes,count,times,cost_s,interval_s,spread_s,samples,source,regret_s,in_no_plan,chosen,stage,reason,rule,id");
  expect(lines[1]).toBe("tvm,Conv+Relu+Add,conv0;relu1;add3,3,2,0.25,0.02,0.01,20,measured,0,false,true,,,tvm.rule,x1");
  expect(lines[2]).toBe('openvino,Gemm,gemm2,1,1,,,,0,invalid,,true,false,build,"it says ""no"", twice",openvino.rule,x2');
  expect(lines.slice(3)).toEqual([""]);
});
