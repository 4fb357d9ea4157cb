import { expect, test } from "vitest";
import { nodesOf } from "../test/candidates";
import { partition, runSnapshot, runSummary } from "../test/runs";
import { comparedCsv, partitionsCsv, runsCsv, totalsCsv } from "./csv_tables";
import { differenceOf } from "./overlays/difference";

const NODES = nodesOf("Conv", "Relu", "MaxPool");
const lines = (text: string): string[] => text.trimEnd().split("\r\n");

test("partitions have their nodes by name and their share, and hand-overs follow", () => {
  const plan = { total_s: 4e-3, partitions: [partition("tvm", [0, 1], 1e-3)], transitions: [{ source: "tvm", target: "host", tensor: "=cmd", bytes: 4, cost_s: 3e-3 }], total_interval_s: null };
  const [header, first, move, ...rest] = lines(partitionsCsv(plan.partitions, plan, NODES));
  expect(header).toBe("target,operators,nodes,count,cost_s,interval_s,spread_s,share_of_total,samples,source,stability,id");
  expect(first).toBe("tvm,Conv+Relu,conv0;relu1,2,0.001,0.00002,0.00002,0.25,12,measured,1,tvm-0-1");
  expect(move).toBe("tvm to host,hand over,'=cmd,,0.003,,,0.75,,,,");
  expect(rest).toEqual([]);
});

test("totals are of the plan and of every baseline, with the reason where there is none", () => {
  const text = totalsCsv(runSnapshot({ baselines: [{ name: "tvm", total_s: null, measured_s: null, reason: "cannot take every node" }] }));
  expect(lines(text).slice(1)).toEqual(["this plan,0.002,,,", "tvm alone,,,,cannot take every node"]);
});

test("runs have a column for every target that occurs, and no formula", () => {
  const text = runsCsv([runSummary("a", { name: "=HYPERLINK(1)", note: 'say "hi",\nthen go' }), runSummary("b", { by_target: { openvino: 1 }, options: { search: "greedy", time_limit_s: 5 } })]);
  const [header] = lines(text);
  expect(header).toContain("base,options,total_s,onnxruntime_s,openvino_s,tvm_s,handing_over_s");
  expect(text).toContain("a,'=HYPERLINK(1),false,\"say \"\"hi\"\",\nthen go\",chain");
  expect(text).toContain(",time limit (s) 5; search greedy,");
});

test("a comparison has a line for each part, and one for handing over", () => {
  const [plan, against] = [runSnapshot().plan, { total_s: 3e-3, partitions: [partition("tvm", [0, 1, 2], 3e-3)], transitions: [], total_interval_s: null }];
  if (!plan) throw new Error("no plan");
  const [, part, moves] = lines(comparedCsv(differenceOf(plan, against), NODES));
  expect(part).toBe("moved,Conv+Relu+MaxPool,conv0;relu1;maxpool2,3,tvm;onnxruntime,2,0.002,tvm,1,0.003,-0.001");
  expect(moves).toMatch(/^hand over,/);
});
