// The interface of a renderer: everything that a frame of the graph shows, whatever draws it.

import type { Size } from "../../base/geometry";
import type { NodePaint } from "../../data/overlays/colours";
import type { Edge } from "../boxes/build";
import type { Camera } from "../scene/camera";
import type { GroupFrame, Handle } from "../scene/handles";
import type { Hull } from "../scene/hulls";
import type { Scene } from "../scene/scene";
import type { Theme } from "./theme";

/** How a partition is painted by the present overlay. */
export interface HullPaint {
  /** The paint of its nodes, where they have the same; null where they differ or are unpainted. */
  node: NodePaint | null;
  badge: string;
  badgeText: () => string;
  /** The colour of the location, as a band at the side; null at the host. */
  band: string | null;
}

/** The colours of a box that the overlay gives it in place of those of its operator. */
export interface BoxPaint {
  header: string;
  headerText: string;
  /** The colour of the whole box, header included, and of text on it; null where only the header is painted. */
  body: { fill: string; text: string } | null;
}

/** The nodes of a folded group that have the same paint, as a share of the group. */
export interface BarShare {
  paint: NodePaint | null;
  /** 0 to 1; those of a group add up to 1. */
  fraction: number;
}

/** The drawing of groups, besides the boxes of the folded ones. */
export interface GroupsDrawn {
  frames: readonly GroupFrame[];
  handles: readonly Handle[];
  /** By the box of a folded group. */
  bars: ReadonlyMap<number, readonly BarShare[]>;
}

/** Everything that one frame shows. */
export interface Frame {
  /** The opacity of the kept picture, from 0 to 1. */
  fade: number;
  scene: Scene;
  camera: Camera;
  theme: Theme;
  hulls: readonly Hull[];
  paint: (hull: Hull) => HullPaint;
  groups: GroupsDrawn;
  /** The paints of boxes by their ids; a box without one has the colour of its operator. */
  boxes: ReadonlyMap<number, BoxPaint>;
  /** Nodes that are painted one by one. */
  pads: ReadonlyMap<number, NodePaint>;
  /** The tensors that cross at edges between partitions, below the shape of the tensor. */
  crossings: ReadonlyMap<Edge, { label: string; isCopied: boolean }>;
  /** Boxes to outline: selected, found, hovered. */
  selected: ReadonlySet<number>;
  hits: ReadonlySet<number>;
  hovered: ReadonlySet<number>;
  /** The selected partition, and those that the last decision changed, by their ids. */
  selectedPartition: string | undefined;
  changed: ReadonlySet<string>;
}

export interface Renderer {
  /** Keep the present picture, which the next frames fade out. */
  keep: () => void;
  resize: (size: Size, pixelRatio: number) => void;
  draw: (frame: Frame) => void;
}
