// Finds the edge at a point of the graph: the nearest one that passes within some pixels. Pure.

import type { Edge } from "../boxes/build";
import type { Scene } from "./scene";

const STEPS = 12;

/** The edge between two nodes that is nearest to the point, within `slack`; undefined where there is none. */
export function edgeAt(scene: Scene, x: number, y: number, slack: number): Edge | undefined {
  const area = { x: x - slack, y: y - slack, width: 2 * slack, height: 2 * slack };
  let best: Edge | undefined;
  let least = slack;
  for (const { edge, points } of scene.edgesIn(area)) {
    if (edge.isStub || edge.from >= scene.graph.nodeCount || edge.to >= scene.graph.nodeCount) continue;
    const away = distance(points, x, y);
    if (away > least) continue;
    least = away;
    best = edge;
  }
  return best;
}

/** The distance of a point from the course of an edge, which is made of the curves that are drawn. */
function distance(points: Float64Array, x: number, y: number): number {
  let least = Infinity;
  for (let i = 2; i < points.length; i += 2) {
    const [x1, y1, x2, y2] = [points[i - 2] ?? 0, points[i - 1] ?? 0, points[i] ?? 0, points[i + 1] ?? 0];
    let [fromX, fromY] = [x1, y1];
    for (let step = 1; step <= STEPS; step++) {
      const t = step / STEPS;
      const [toX, toY] = [x1 + (x2 - x1) * t * t * (3 - 2 * t), alongCurve(y1, y2, t)];
      least = Math.min(least, fromSegment(x, y, fromX, fromY, toX, toY));
      [fromX, fromY] = [toX, toY];
    }
  }
  return least;
}

/** The height of the curve at `t`: both inner control points are half way between its ends. */
function alongCurve(y1: number, y2: number, t: number): number {
  const middle = (y1 + y2) / 2;
  const s = 1 - t;
  return s * s * s * y1 + 3 * s * t * middle + t * t * t * y2;
}

function fromSegment(x: number, y: number, x1: number, y1: number, x2: number, y2: number): number {
  const [dx, dy] = [x2 - x1, y2 - y1];
  const length = dx * dx + dy * dy;
  const t = length === 0 ? 0 : Math.max(0, Math.min(1, ((x - x1) * dx + (y - y1) * dy) / length));
  return Math.hypot(x - x1 - t * dx, y - y1 - t * dy);
}
