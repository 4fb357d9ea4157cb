import { expect, test } from "vitest";
import { partition } from "../../../test/runs";
import { doubtOf } from "./certainty";

const base = { ...partition("tvm", [0], 1e-3), stability: null };

test("stability takes precedence over the interval", () => {
  expect(doubtOf({ ...base, stability: 1 })).toEqual({ basis: "stability", value: 0, isGuess: false });
  expect(doubtOf({ ...base, stability: 0.75 }).value).toBeCloseTo(0.5);
  expect(doubtOf({ ...base, stability: 0.2 }).value).toBe(1);
});

test("without stability the interval counts; a cost without an interval says nothing", () => {
  expect(doubtOf({ ...base, interval_s: 1e-4 })).toMatchObject({ basis: "interval", isGuess: false });
  expect(doubtOf({ ...base, interval_s: 1e-4 }).value).toBeCloseTo(0.4);
  expect(doubtOf({ ...base, interval_s: 9e-4 }).value).toBe(1);
  expect(doubtOf({ ...base, interval_s: null })).toEqual({ basis: "nothing", value: null, isGuess: false });
});

test.each(["estimate", "mock", "unknown"])("a cost whose source is %s is marked as a guess", (source) => {
  expect(doubtOf({ ...base, source, interval_s: null, samples: 0 })).toEqual({ basis: "nothing", value: null, isGuess: true });
  expect(doubtOf({ ...base, source, stability: 1 }).isGuess).toBe(true);
});

test("an unknown cost is a guess, and the host's zero is certain", () => {
  expect(doubtOf({ ...base, cost_s: null }).isGuess).toBe(true);
  expect(doubtOf({ ...base, source: "host", interval_s: null, samples: 0 })).toEqual({ basis: "nothing", value: 0, isGuess: false });
});
