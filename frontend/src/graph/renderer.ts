// What a renderer of the graph is asked to draw, whatever it draws with.

import type { Camera, Size } from "./camera";
import type { Hull } from "./hulls";
import type { Scene } from "./scene";
import type { Theme } from "./theme";

/** How one partition is painted, by the overlay that is on. */
export interface HullPaint {
  fill: string;
  /** How much of the fill is seen from near, times the theme's tint: a heat has to be read, a target's colour only told. */
  strength: number;
  badge: string;
  badgeText: string;
}

/** Everything that one frame shows. */
export interface Frame {
  scene: Scene;
  camera: Camera;
  theme: Theme;
  hulls: readonly Hull[];
  paint: (hull: Hull) => HullPaint;
  /** Boxes to outline: selected, found, pointed at. */
  selected: ReadonlySet<number>;
  hits: ReadonlySet<number>;
  hovered: ReadonlySet<number>;
  /** Ids of partitions: the selected one, and those that the last decision changed. */
  selectedPartition: string | undefined;
  changed: ReadonlySet<string>;
}

export interface Renderer {
  resize: (size: Size, pixelRatio: number) => void;
  draw: (frame: Frame) => void;
}
