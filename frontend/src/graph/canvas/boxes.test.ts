import { expect, test } from "vitest";
import { TITLE_HEIGHT } from "../layout/measure";
import type { PlacedBox } from "../scene/scene";
import { drawBoxes } from "./boxes";
import { detailAt } from "./detail";
import type { Drawing } from "./drawing";

const THEME = { nodeBorder: "border", nodeBody: "body" };

interface Fill {
  colour: string;
  alpha: number;
  y: number;
  end: number;
}

/** The last fill at the header, in the body and at the lower end of a box of this height. */
function filledDown(height: number, k = 0.2, painted: "no" | "node" | "group" = "no"): (Fill | undefined)[] {
  const filled: Fill[] = [];
  const context = {
    fillStyle: "",
    globalAlpha: 1,
    fillRect(_: number, y: number, __: number, tall: number) {
      filled.push({ colour: this.fillStyle, alpha: this.globalAlpha, y, end: y + tall });
    },
  };
  const box = { x: 0, y: 0, width: 100, height, box: { id: 7, kind: painted === "group" ? "group" : "node", category: "other" } } as unknown as PlacedBox;
  const ids = new Map([[7, {}]]);
  const frame = { camera: { k }, theme: THEME, boxes: new Map(), pads: painted === "node" ? ids : new Map(), groups: { bars: painted === "group" ? ids : new Map() } };
  drawBoxes({ context, frame } as unknown as Drawing, [box], { ...detailAt(k), titles: 0, rows: 0 });
  const at = (y: number): Fill | undefined => filled.findLast((one) => one.y <= y && y < one.end);
  return [at(TITLE_HEIGHT / 2), at(TITLE_HEIGHT + 5), at(height - 1)];
}

const colours = (fills: (Fill | undefined)[]): (string | undefined)[] => fills.map((one) => one?.colour);

test("from afar the body of a box has a border, or it could not be told from the background", () => {
  const [header, body, end] = colours(filledDown(90));
  expect([body, end]).toEqual(["body", "border"]);
  expect(["body", "border", undefined]).not.toContain(header);
});

test("a box without a body is its header alone", () => {
  const [header, , end] = colours(filledDown(TITLE_HEIGHT));
  expect(end).toBe(header);
});

test("from afar the paint of an overlay is seen in the body; nearer the body fades in, and the header stays", () => {
  for (const painted of ["node", "group"] as const) {
    const alphas = [0.17, 0.24, 0.27, 0.299].map((k) => filledDown(90, k, painted)[1]?.alpha ?? 0);
    expect(alphas[0]).toBeLessThan(0.05);
    expect(alphas).toEqual([...alphas].sort());
    expect(alphas[3]).toBeGreaterThan(0.95);
    expect(filledDown(90, 0.17, painted)[0]?.alpha).toBe(1);
  }
});

test("from very far a box has its colour all over, one that an overlay paints has that paint alone", () => {
  const [header, body, end] = colours(filledDown(90, 0.1));
  expect(header).toBeDefined();
  expect([body, end]).toEqual([header, header]);
  expect(filledDown(90, 0.1, "node")).toEqual([undefined, undefined, undefined]);
  expect(filledDown(90, 0.1, "group")).toEqual([undefined, undefined, undefined]);
});
