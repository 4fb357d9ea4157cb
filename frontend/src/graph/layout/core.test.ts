import { expect, test } from "vitest";
import { chain, inception, residual, transformer } from "../../../test/graphs";
import { atOnce, laidOut } from "../../../test/layouts";
import { touches } from "../../base/geometry";
import { placing } from "../scene/scene";

const models = { chain: chain(), inception: inception(3), residual: residual(4), transformer: transformer(3) };

test.each(Object.entries(models))("no two boxes of %s overlap", (_, json) => {
  const { graph, sizes, result } = laidOut(json);
  const { drawn: boxes } = atOnce(placing(graph, sizes, result));
  for (const [i, a] of boxes.entries()) for (const b of boxes.slice(i + 1)) expect(touches(a, b), `${a.box.name} over ${b.box.name}`).toBe(false);
});

test.each(Object.entries(models))("every edge of %s runs downwards, from its producer to its reader", (_, json) => {
  const { graph, sizes, result } = laidOut(json);
  const scene = atOnce(placing(graph, sizes, result));
  for (const { edge, points } of scene.edges.filter((one) => !one.edge.isStub)) {
    const [from, to] = [scene.boxes[edge.from], scene.boxes[edge.to]];
    expect(points[1]).toBeCloseTo((from?.y ?? 0) + (from?.height ?? 0), 3);
    expect(points[points.length - 1]).toBeCloseTo(to?.y ?? 0, 3);
  }
});

test("equal layers of a deep model look the same, one below the other", () => {
  const { graph, sizes, result } = laidOut(residual(6));
  const { drawn: boxes } = atOnce(placing(graph, sizes, result));
  const sums = boxes.filter((box) => box.box.title === "Add");
  const steps = sums.slice(2).map((box, i) => box.y - (sums[i + 1]?.y ?? 0));
  expect(new Set(steps.map((step) => Math.round(step))).size).toBe(1);
  expect(new Set(sums.slice(1).map((box) => Math.round(box.x))).size).toBe(1);
});
