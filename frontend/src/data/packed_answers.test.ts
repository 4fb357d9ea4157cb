import { describe, expect, it } from "vitest";
import { answerIn, unpacked } from "./packed_answers";

/** Answers as a report holds them. */
async function packed(answers: Record<string, unknown>): Promise<string> {
  const stream = new Blob([JSON.stringify(answers)]).stream().pipeThrough(new CompressionStream("gzip"));
  return btoa(String.fromCharCode(...new Uint8Array(await new Response(stream).arrayBuffer())));
}

const ROWS = {
  candidates: [{ id: "a" }, { id: "b" }],
  rejections: [{ target: "t", stage: "rule" }],
  nodes: [
    { candidates: [1], rejections: [] },
    { candidates: [0, 1], rejections: [0] },
  ],
};

describe("the answers of a report", () => {
  it("come out as they were packed", async () => {
    const name = "</script>\u2028 – ü";
    const answers = await unpacked(`\n${await packed({ "GET runs/1/log": { name } })}\n`);
    expect(answerIn(answers, "GET runs/1/log")).toEqual({ name });
    expect(answerIn(answers, "GET runs/2/log")).toBeUndefined();
    expect(answerIn(answers, "DELETE runs/1/log")).toBeUndefined();
  });

  it("have the candidates of each node, put together from the table of all", async () => {
    const answers = await unpacked(await packed({ "GET runs/1/candidates?node=*": ROWS, "GET runs/1/candidates": "the table" }));
    expect(answerIn(answers, "GET runs/1/candidates?node=0")).toEqual({ node: 0, candidates: [{ id: "b" }], rejections: [] });
    expect(answerIn(answers, "GET runs/1/candidates?node=1")).toEqual({ node: 1, candidates: ROWS.candidates, rejections: ROWS.rejections });
    expect(answerIn(answers, "GET runs/1/candidates?node=2")).toBeUndefined();
    expect(answerIn(answers, "GET runs/2/candidates?node=0")).toBeUndefined();
    expect(answerIn(answers, "GET runs/1/candidates")).toBe("the table");
  });
});
