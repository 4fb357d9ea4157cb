// What a renderer of the graph is asked to draw, whatever it draws with.

import type { Size } from "../../base/geometry";
import type { NodePaint } from "../../data/overlays/colours";
import type { Camera } from "../scene/camera";
import type { GroupFrame, Handle } from "../scene/handles";
import type { Hull } from "../scene/hulls";
import type { Scene } from "../scene/scene";
import type { Theme } from "./theme";

/** How one partition is painted, by the overlay that is on. */
export interface HullPaint {
  /** Of its nodes, where they are all alike; null where they differ, or where the overlay says nothing of them. */
  node: NodePaint | null;
  badge: string;
  badgeText: () => string;
}

/** A share of what a folded group holds that is painted alike. */
export interface BarShare {
  paint: NodePaint | null;
  /** 0 to 1; those of a group add up to 1. */
  fraction: number;
}

/** What is drawn of groups, besides the boxes of the folded ones. */
export interface GroupsDrawn {
  frames: readonly GroupFrame[];
  handles: readonly Handle[];
  /** By the box of a folded group. */
  bars: ReadonlyMap<number, readonly BarShare[]>;
}

/** Everything that one frame shows. */
export interface Frame {
  /** How much of the kept picture is still seen, 0 to 1. */
  fade: number;
  scene: Scene;
  camera: Camera;
  theme: Theme;
  hulls: readonly Hull[];
  paint: (hull: Hull) => HullPaint;
  groups: GroupsDrawn;
  /** Nodes that are painted one by one. */
  pads: ReadonlyMap<number, NodePaint>;
  /** Boxes to outline: selected, found, pointed at. */
  selected: ReadonlySet<number>;
  hits: ReadonlySet<number>;
  hovered: ReadonlySet<number>;
  /** Ids of partitions: the selected one, and those that the last decision changed. */
  selectedPartition: string | undefined;
  changed: ReadonlySet<string>;
}

export interface Renderer {
  /** Keep the present picture, to be seen through the next ones as far as they say. */
  keep: () => void;
  resize: (size: Size, pixelRatio: number) => void;
  draw: (frame: Frame) => void;
}
