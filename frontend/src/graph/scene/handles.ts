// The handles that unfold and fold groups: the triangle in the box of a folded group, and the tab at the frame of an unfolded one.

import { boundsOf, padded, type Rect } from "../../base/geometry";
import { eachOf, type LongWork } from "../../base/long_work";
import { groupTitle, type Group } from "../boxes/groups";
import { HANDLE_WIDTH, SIDE_PAD, TITLE_HEIGHT } from "../layout/measure";
import { HULL_PAD } from "./hulls";
import { holderOf, type PlacedBox, type PlacedEdge, type Scene } from "./scene";

/** The frame around the nodes of an unfolded group. */
export interface GroupFrame {
  group: Group;
  bounds: Rect;
}

export interface Handle {
  group: Group;
  isFolded: boolean;
  rect: Rect;
  title: string;
}

const FRAME_STEP = 5;
const TAB_GAP = 4;

/** The frames of the unfolded groups, outer ones first: around the drawn boxes of their nodes, and around the frames inside. */
export function* framing(scene: Scene): LongWork<GroupFrame[]> {
  const made = new Map<Group, Rect>();
  for (const group of [...scene.graph.unfolded].reverse()) {
    const held = new Set(group.nodes.flatMap((node) => holderOf(scene, node) ?? []));
    yield;
    const inner = group.inner.flatMap((one) => made.get(one) ?? []);
    const bounds = yield* reaching(scene, boundsOf([...held, ...inner]), held);
    made.set(group, padded(bounds, inner.length > 0 ? FRAME_STEP : HULL_PAD + FRAME_STEP));
  }
  return scene.graph.unfolded.flatMap((group) => {
    const bounds = made.get(group);
    return bounds ? [{ group, bounds }] : [];
  });
}

/** Widen bounds by the edges that run beside the boxes. */
function* reaching(scene: Scene, bounds: Rect, held: ReadonlySet<PlacedBox>): LongWork<Rect> {
  let [left, right] = [bounds.x, bounds.x + bounds.width];
  const reach = ({ points }: PlacedEdge): void => {
    for (let i = 0; i < points.length; i += 2) {
      const [x, y] = [points[i] ?? 0, points[i + 1] ?? 0];
      if (y < bounds.y || y > bounds.y + bounds.height) continue;
      left = Math.min(left, x);
      right = Math.max(right, x);
    }
  };
  yield* eachOf(held, ({ box }) => {
    scene.into[box.id]?.forEach(reach);
    scene.out[box.id]?.forEach(reach);
  });
  return { ...bounds, x: left, width: right - left };
}

/** All handles: those in the boxes of folded groups, and those to the left of the frames of unfolded ones. */
export function handlesOf(scene: Scene, frames: readonly GroupFrame[], widthOf: (title: string) => number): Handle[] {
  const folded = [...scene.graph.groupAt].flatMap(([id, group]): Handle[] => {
    const box = scene.boxes[id];
    return box ? [{ group, isFolded: true, title: groupTitle(group), rect: { x: box.x, y: box.y, width: SIDE_PAD + HANDLE_WIDTH, height: TITLE_HEIGHT } }] : [];
  });
  const unfolded = frames.map(({ group, bounds }): Handle => {
    const title = groupTitle(group);
    const width = widthOf(title) + 2 * SIDE_PAD + HANDLE_WIDTH;
    const level = levelOf(group) * (TITLE_HEIGHT + TAB_GAP);
    return { group, isFolded: false, title, rect: { x: bounds.x - width - TAB_GAP, y: bounds.y + level, width, height: TITLE_HEIGHT } };
  });
  return [...folded, ...unfolded];
}

/** How many groups around it begin at its first node; their tabs are above its own. */
function levelOf(group: Group): number {
  let level = 0;
  for (let outer = group.parent; outer && outer.nodes[0] === group.nodes[0]; outer = outer.parent) level += 1;
  return level;
}
