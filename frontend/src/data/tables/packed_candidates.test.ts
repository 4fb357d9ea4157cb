import { expect, test } from "vitest";
import { cost, invalid, tableOf, row } from "../../../test/candidates";
import { unpacked } from "./packed_candidates";

const COLUMNS = { id: ["a", "b"], target: [1, 0], label: [0, 0], rule: [1, 0], spans: [[0, 3, 7, 7], [2, 2]], times: [1, 4], cost: [1, 0], chosen: [1], regret_s: [null, 0], in_no_plan: [0] };
const PACKED = { run: "r1", targets: ["ncnn", "openvino"], labels: ["Conv"], rules: ["ncnn.one", "openvino.all"], costs: [cost(), invalid("build", "no layer")], columns: COLUMNS, rejections: [] };

test("columns become rows", () => {
  expect(unpacked(PACKED)).toEqual(
    tableOf([
      row("a", "openvino", [0, 3, 7, 7], { label: "Conv", rule: "openvino.all", cost: invalid("build", "no layer"), in_no_plan: true }),
      row("b", "ncnn", [2, 2], { label: "Conv", rule: "ncnn.one", times: 4, chosen: true, regret_s: 0 }),
    ]),
  );
});

test("an index that points nowhere is an error", () => {
  expect(() => unpacked({ ...PACKED, costs: [] })).toThrow("no entry 1");
});
