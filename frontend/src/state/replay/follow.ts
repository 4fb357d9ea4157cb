// Keeps the subject of the replay in view: the tried candidate, or else the first node that is not covered.

import { effect, signal } from "@preact/signals";
import { boundsOf, type Rect } from "../../base/geometry";
import { seen } from "../../graph/scene/camera";
import { holderOf } from "../../graph/scene/scene";
import { camera, setCamera, reveal, screenSize } from "../graph/view";
import { model } from "../model/model";
import { replayed } from "./overlay";
import { isPlaying } from "./player";

export const follows = signal(true);

/** Follow the replay from now on. */
export function watchFollow(): void {
  effect(() => {
    const shown = replayed.value;
    if (!shown || !follows.value) return;
    const scene = model.peek()?.scene;
    const nodes = shown.tried?.nodes ?? (shown.frontier === null ? [] : [shown.frontier]);
    const boxes = nodes.flatMap((node) => (scene && holderOf(scene, node)) ?? []);
    if (boxes.length > 0) bringIntoView(boundsOf(boxes));
  });
}

/** Move the view, unless the middle of the rectangle is in it. While the replay plays the view jumps, since gliding would never end. */
function bringIntoView(rect: Rect): void {
  const area = seen(camera.peek(), screenSize.peek());
  const [dx, dy] = [rect.x + rect.width / 2 - area.x, rect.y + rect.height / 2 - area.y];
  if (area.width === 0 || (dx >= 0 && dx <= area.width && dy >= 0 && dy <= area.height)) return;
  if (isPlaying.peek()) setCamera({ x: area.x + dx - area.width / 2, y: area.y + dy - area.height / 2, k: camera.peek().k });
  else reveal(rect, 0);
}
