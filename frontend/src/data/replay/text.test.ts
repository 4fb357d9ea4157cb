import { describe, expect, test } from "vitest";
import { trace } from "../../../test/traces";
import type { TraceCandidate } from "../protocol";
import { chunkOf, frameAt, type ReplayFrame } from "./frames";
import { briefStepText, costText, stepText } from "./text";

const { facts, chunks } = trace;
const frames = [...Array(facts.steps).keys()].map((step) => {
  const chunk = chunks[chunkOf(facts, step)];
  return (chunk && frameAt(facts, chunk, step)) as ReplayFrame;
});
const first = (kind: ReplayFrame["kind"]): ReplayFrame => frames.find((frame) => frame.kind === kind) as ReplayFrame;
const said = (frame: ReplayFrame): string => stepText(frame, facts, (node) => `n${node}`);
const conv: TraceCandidate = { number: 0, target: "tvm", label: "Conv+Relu", spans: [0, 1], cost_s: 84e-6, source: "measured" };

describe("each step in words", () => {
  test("beginning, taking", () => {
    expect(said(first("begin"))).toBe("The first search begins: 12 candidates over 6 nodes, none covered yet.");
    expect(said(first("taken"))).toBe("State 0 is expanded: nothing is covered yet. No plan over it is below 19.0 s.");
    expect(briefStepText(first("taken"))).toBe("expands state 0");
  });

  test("a placed candidate comes with its cost and the covered share", () => {
    const frame: ReplayFrame = { ...first("found"), candidate: conv, placed: [], state: 7, leastS: 0.002 };
    expect(said(frame)).toBe(
      "tvm’s Conv+Relu at n0 (84.0 µs) is placed: state 7 is found, 2 of 6 nodes covered by 1 candidate, 84.0 µs together. No plan over it is below 2.00 ms.",
    );
    expect(briefStepText(frame)).toBe("tvm Conv+Relu → state 7");
    expect(said({ ...frame, kind: "improved", leastS: null })).toContain("state 7 is improved, 2 of 6 nodes covered");
  });

  test("a refused candidate comes with the reason", () => {
    const frame: ReplayFrame = { ...first("refused"), candidate: conv, state: 3, reason: "overlaps" };
    expect(said(frame)).toBe("tvm’s Conv+Relu at n0 (84.0 µs) is tried in state 3 and not placed: it overlaps what is covered already.");
    const why = facts.reasons.map((reason) => said({ ...frame, reason }).split("not placed: ")[1]);
    expect(new Set(why).size).toBe(facts.reasons.length);
    for (const reason of facts.reasons) expect(why, "each in a sentence, not as the search calls it").not.toContain(`${reason}.`);
    expect(briefStepText(frame)).toBe("tvm Conv+Relu: overlaps");
  });

  test("plans and the end", () => {
    expect(said(first("plan"))).toMatch(/^The best plan so far: predicted [\d.]+ s by 6 partitions\.$/);
    expect(said({ ...first("plan"), bestS: 1 })).toMatch(/^A plan: /);
    expect(said(first("end"))).toBe("The first search ends with a plan of predicted 19.0 s, and it is proven that no plan is better, after 12 states and 20 tried candidates.");
    const end = first("end");
    const stopped = { ...end, search: { ...end.search, result: end.search.result && { ...end.search.result, stopped: true, total_s: null } } };
    expect(said(stopped)).toContain("stopped early without a plan: the time for tracing is over");
    expect(said({ ...first("begin"), search: { ...end.search, is_again: true } })).toContain("begins again: partitions of the best plan wait for each other");
  });

  test("every step has words", () => {
    for (const frame of frames) {
      expect(said(frame)).toMatch(/^[A-Zo-t].*\.$/);
      expect(said(frame)).not.toMatch(/undefined|NaN|null/);
      expect(briefStepText(frame)).not.toBe("");
    }
  });
});

test("a cost that was not measured is not presented as a measured one", () => {
  expect(costText(conv)).toBe("84.0 µs");
  expect(costText({ ...conv, source: "estimate" })).toBe("84.0 µs (an estimate)");
  expect(costText({ ...conv, source: "mock" })).toBe("84.0 µs, mock");
  expect(costText({ ...conv, cost_s: null })).toBe("cost not known");
  expect(said({ ...first("taken"), placed: [{ ...conv, source: "estimate" }] })).toContain("1 candidate, 84.0 µs together, not all of it measured");
});
