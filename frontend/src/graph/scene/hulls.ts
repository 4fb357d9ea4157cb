// The hulls of a plan's partitions over the laid-out graph, made from the positions of the boxes: a plan moves no box.

import { boundsOf, padded, type Rect, touches } from "../../base/geometry";
import { eachOf, type LongWork } from "../../base/long_work";
import type { PlanPartition } from "../../data/protocol";
import { type PlacedBox, type Scene } from "./scene";

export interface Shape {
  /** The rectangle around everything in it. */
  bounds: Rect;
  /** Its rectangles: one for each column of the graph in which no foreign box is among its own, else one around each box and corridor. */
  rects: Rect[];
  /** The courses of the inner edges that lead from one of its pieces to another. */
  connectors: Float64Array[];
  /** The rectangle with the badge: that of the first box in the model's order. The uppermost one may stand in any column of a wrapped layout. */
  anchor: Rect;
}

export interface Hull extends Shape {
  partition: PlanPartition;
}

export const HULL_PAD = 9;

const known = new WeakMap<Scene, WeakMap<PlanPartition, Hull | undefined>>();

/**
 * The hulls of a plan, in its order. The hull of a partition is made once for each scene. A partition has none where folded groups
 * hide all of its boxes.
 */
export function hullsOf(scene: Scene, partitions: readonly PlanPartition[]): Hull[] {
  return partitions.flatMap((partition) => hullOf(scene, partition) ?? []);
}

/** Make the hulls of a plan before they are needed, over several frames. */
export function hulling(scene: Scene, partitions: readonly PlanPartition[]): LongWork<void> {
  return eachOf(partitions, (partition) => hullOf(scene, partition));
}

function hullOf(scene: Scene, partition: PlanPartition): Hull | undefined {
  const made = known.get(scene) ?? new WeakMap<PlanPartition, Hull | undefined>();
  known.set(scene, made);
  if (made.has(partition)) return made.get(partition);
  const boxes = boxesOf(scene, partition.nodes);
  const hull = boxes.length > 0 ? { partition, ...shapeOf(scene, boxes) } : undefined;
  made.set(partition, hull);
  return hull;
}

/** The boxes that are drawn for some nodes and for no others. */
export function boxesOf(scene: Scene, nodes: readonly number[]): PlacedBox[] {
  const within = new Map<number, number>();
  for (const node of nodes) {
    const holder = scene.graph.holder[node];
    if (holder !== undefined) within.set(holder, (within.get(holder) ?? 0) + 1);
  }
  return [...within].flatMap(([id, count]) => {
    const box = scene.boxes[id];
    return box && count === (scene.graph.groupAt.get(id)?.nodes.length ?? 1) ? [box] : [];
  });
}

function shapeOf(scene: Scene, boxes: readonly PlacedBox[]): Shape {
  const inside = new Set(boxes.map((box) => box.box.id));
  const rects: Rect[] = [];
  /** By the id of a box, the piece that it is in. */
  const pieceOf = new Map<number, PlacedBox | number>();
  for (const [column, own] of inColumns(scene, boxes)) {
    const whole = padded(boundsOf(own), HULL_PAD);
    const isAlone = scene.boxesIn(whole).every((box) => inside.has(box.box.id));
    rects.push(...(isAlone ? [whole] : own.map((box) => padded(box, HULL_PAD))));
    for (const box of own) pieceOf.set(box.box.id, isAlone ? column : box);
  }
  const connectors: Float64Array[] = [];
  for (const box of boxes) {
    for (const { edge, points } of scene.out[box.box.id] ?? []) {
      if (!inside.has(edge.to) || edge.isStub || pieceOf.get(edge.from) === pieceOf.get(edge.to)) continue;
      const corridor = corridorBetween(box, scene.boxes[edge.to], scene, inside);
      if (corridor) rects.push(corridor);
      else connectors.push(points);
    }
  }
  const first = boxes[0]?.box.id ?? -1;
  const anchor = rects.find((rect) => touches(rect, scene.boxes[first] ?? rect)) ?? boundsOf(rects);
  return { bounds: boundsOf(rects), rects, connectors, anchor };
}

/** The boxes in each column of the graph, by its index. */
function inColumns({ columnEnds }: Scene, boxes: readonly PlacedBox[]): Map<number, PlacedBox[]> {
  const columns = new Map<number, PlacedBox[]>();
  for (const box of boxes) {
    const column = columnEnds.filter((end) => end < box.x + box.width / 2).length;
    const known = columns.get(column);
    if (known) known.push(box);
    else columns.set(column, [box]);
  }
  return columns;
}

/** The rectangle between two boxes, one above the other, where no foreign box is in it; with it they look like one piece. */
function corridorBetween(upper: PlacedBox, lower: PlacedBox | undefined, scene: Scene, inside: Set<number>): Rect | undefined {
  if (!lower) return undefined;
  const left = Math.max(upper.x, lower.x);
  const right = Math.min(upper.x + upper.width, lower.x + lower.width);
  const top = upper.y + upper.height;
  if (right - left < 24 || lower.y <= top) return undefined;
  const corridor = padded({ x: left, y: top, width: right - left, height: lower.y - top }, HULL_PAD);
  return scene.boxesIn(corridor).every((box) => inside.has(box.box.id)) ? corridor : undefined;
}

/** The smallest hull at a graph point; undefined where there is none. */
export function hullAt(hulls: readonly Hull[], x: number, y: number): Hull | undefined {
  const point = { x, y, width: 0, height: 0 };
  return hulls
    .filter((hull) => touches(hull.bounds, point) && hull.rects.some((rect) => touches(rect, point)))
    .sort((a, b) => a.bounds.width * a.bounds.height - b.bounds.width * b.bounds.height)[0];
}
