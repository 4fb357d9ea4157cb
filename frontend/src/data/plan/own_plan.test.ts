import { expect, test } from "vitest";
import { planTime } from "../../../test/runs";
import type { CostedPlan } from "../protocol";
import { lossLines, measureCommand, measuredLine, parseDevices } from "./own_plan";

test("devices are read as the command line reads them", () => {
  expect(parseDevices(" CPU=openvino, CPUExecutionProvider = onnxruntime\n")).toEqual({ devices: { CPU: "openvino", CPUExecutionProvider: "onnxruntime" } });
  expect(parseDevices("")).toEqual({ devices: {} });
  expect(parseDevices("CPU")).toEqual({ mistake: '"CPU" must be DEVICE=TARGET' });
  expect(parseDevices("=tvm")).toEqual({ mistake: '"=tvm" must be DEVICE=TARGET' });
});

test("the apparent loss is said with what it rests on", () => {
  const plan = { total_s: 3e-3, partitions: [], transitions: [], total_interval_s: null };
  const own: CostedPlan = { run: "r", name: "mine", plan, time: planTime(), apparent_loss_s: -1e-3, unknown: [], ignored: [] };
  expect(lossLines(own)).toEqual(["this run's plan is predicted 1.00 ms faster than yours"]);
  expect(lossLines({ ...own, apparent_loss_s: 1e-3 })[0]).toBe("this run's plan is predicted 1.00 ms slower than yours");
  const unknown = [{ id: "c", target: "tvm", nodes: [1, 2], names: ["a", "b"], reason: "never timed" }];
  expect(lossLines({ ...own, apparent_loss_s: null, unknown, ignored: ["x"] })).toEqual([
    "its total is not known",
    "not known: 2 nodes from a on tvm: never timed",
    "your plan has 1 name of no node of the model as it was planned: x",
  ]);
});

test("what both took is said as measured in turns", () => {
  const row = { name: "the plan of the run", kind: "search", time: planTime({ measured_s: 4e-3 }), rounds: 5, reason: "", against: "-1 ms measured" } as const;
  expect(measuredLine(row)).toBe("timed end to end in turns, this run's plan takes 4.00 ms, against yours: -1 ms measured");
});

test("the command that measures it is one for a shell", () => {
  expect(measureCommand({ text: "", name: "pasted", devices: {} })).toBe("collage explain plan.json --against mine.txt --measure MODEL");
  expect(measureCommand({ text: "", name: "it's.log", devices: { CPU: "openvino", "a b": "tvm" } })).toBe(
    "collage explain plan.json --against 'it'\\''s.log' --as CPU=openvino --as 'a b=tvm' --measure MODEL",
  );
});
