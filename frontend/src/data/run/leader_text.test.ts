import { expect, test } from "vitest";
import type { Leader } from "../protocol";
import { leaderName, leaderNote, leaderTime, MIX } from "./leader_text";

const ROW: Leader = { name: "tvm", total_s: null, interval_s: null, measured_s: null, nodes: 0, of: 0, targets: [], partitions: 0, reason: "" };

function said(changes: Partial<Leader>): string[] {
  const row = { ...ROW, ...changes };
  return [leaderName(row), leaderTime(row), leaderNote(row)];
}

test("each row says what is known, and what it rests on", () => {
  expect(said({})).toEqual(["tvm alone", "", "not timed yet"]);
  expect(said({ reason: "no converter for Relu" })).toEqual(["tvm alone", "", "no converter for Relu"]);
  expect(said({ total_s: 3e-3, interval_s: 1e-4, nodes: 9, of: 9 })).toEqual(["tvm alone", "3.00 ms ± 0.10 ms", ""]);
  expect(said({ total_s: 3e-3, nodes: 2, of: 9 })).toEqual(["tvm alone", "3.00 ms", "2 of 9 nodes"]);
  expect(said({ total_s: 3e-3, interval_s: 1e-4, measured_s: 2e-3, nodes: 9, of: 9 })).toEqual(["tvm alone", "2.00 ms", "timed end to end"]);
  const mix = { name: MIX, total_s: 1e-3, nodes: 9, of: 9, targets: ["tvm", "ncnn"], partitions: 3 };
  expect(said(mix)).toEqual(["best mix", "1.00 ms", "predicted, 3 partitions on tvm and ncnn"]);
});
