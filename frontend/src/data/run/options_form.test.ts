import { expect, test } from "vitest";
import { DEFAULTS, fieldOf, formOf, isDefault, NOTHING_SAID, optionsInText, readForm, withoutDashes, type Form } from "./options_form";

const FULL: Form = {
  targets: { "": { ...NOTHING_SAID, depth: "4", hasTaps: true }, tvm: { depth: "2", exits: " 3 ", fusion: "none", hasTaps: true } },
  threads: "2",
  percentile: "90.5",
  budget: "90",
  tune: "60",
  timeLimit: "1e2",
  objective: "bytes,time",
  search: "milp",
  valuePolicy: "any",
  measureAll: true,
};

test("typed texts become options; empty ones are left to the engine", () => {
  const { options, mistakes } = readForm(FULL, ["tvm", "openvino"]);
  expect(mistakes.size).toBe(0);
  expect(options).toEqual({
    max_depth: { "": 4, tvm: 2 },
    max_exits: { tvm: 3 },
    taps: ["", "tvm"],
    fusion: { tvm: "none" },
    threads: 2,
    percentile: 90.5,
    budget_s: 90,
    tune_s: 60,
    time_limit_s: 100,
    objective: "bytes,time",
    search: "milp",
    value_policy: "any",
    measure_all: true,
  });
  expect(readForm(DEFAULTS, ["tvm"]).options).toMatchObject({ max_depth: {}, taps: [], threads: null, search: null, measure_all: false });
  expect(readForm(FULL, []).options).toMatchObject({ max_depth: { "": 4 }, taps: [""], fusion: {} });
});

test("a text that is no number is reported beside its field", () => {
  const { mistakes } = readForm({ ...DEFAULTS, threads: "two", percentile: "5O", timeLimit: "Infinity", targets: { tvm: { ...NOTHING_SAID, depth: "2.5" } } }, ["tvm"]);
  expect([...mistakes]).toEqual([
    ["max_depth:tvm", "2.5 is not a whole number"],
    ["threads", "two is not a whole number"],
    ["percentile", "5O is not a number"],
    ["time_limit_s", "Infinity is not a number"],
  ]);
  expect(fieldOf({ option: "max_depth", target: "" })).toBe("max_depth");
});

test("a run's options come back as the form that makes them", () => {
  expect(isDefault(DEFAULTS)).toBe(true);
  expect(isDefault({ ...DEFAULTS, targets: { tvm: NOTHING_SAID } })).toBe(true);
  expect(isDefault(FULL)).toBe(false);
  const { options } = readForm(FULL, ["tvm"]);
  expect(readForm(formOf(options), ["tvm"]).options).toEqual(options);
  expect(formOf({})).toEqual(DEFAULTS);
});

test("options in words", () => {
  expect(optionsInText({})).toEqual([]);
  expect(optionsInText({ ...readForm(FULL, ["tvm"]).options, accuracy: 0.01 })).toEqual([
    "max depth 4",
    "max depth 2 for tvm",
    "max outputs 3 for tvm",
    "taps allowed",
    "taps allowed for tvm",
    "fusion none for tvm",
    "threads 2",
    "accuracy 0.01",
    "values any",
    "percentile 90.5",
    "budget (s) 90",
    "tune (s) 60",
    "time limit (s) 100",
    "search milp",
    "objective bytes,time",
    "everything measured",
  ]);
  expect(withoutDashes("--max-depth tvm is 0, it must be at least 1")).toBe("max depth tvm is 0, it must be at least 1");
});
