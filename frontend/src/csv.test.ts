import { expect, test } from "vitest";
import { cost, invalid, nodesOf, row } from "../test/candidates";
import { costsCsv, csv } from "./csv";

test("cells are quoted where they must be, and lines end as RFC 4180 says", () => {
  expect(csv(["a", "b"], [["x,y", 'say "hi"'], ["two\nlines", null], [1e-7, true]])).toBe('a,b\r\n"x,y","say ""hi"""\r\n"two\nlines",\r\n1e-7,true\r\n');
});

test.each(["=1+1", "+1", "-1", "@SUM(A1)", "\tx"])("the text %j is no formula to a spreadsheet", (text) => {
  expect(csv(["a"], [[text]])).toBe(`a\r\n'${text}\r\n`);
});

test("a negative number stays a number", () => {
  expect(csv(["a"], [[-2]])).toBe("a\r\n-2\r\n");
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
