// The colours of nodes for each overlay: the one source for the graph, at every scale, and for the strip.

import { mix } from "../../base/colour";
import type { PlanPartition } from "../protocol";
import { doubtOf } from "./certainty";
import type { NodeCoverage } from "./coverage";
import type { Difference } from "./difference";
import { doubt as doubtColour, heat } from "./ramps";

export interface NodePaint {
  fill: string;
  /** Factor on the theme's tint when zoomed in: a scale has to be read off the fill, while a target only has to be recognised. */
  strength: number;
  /** Drawn with diagonal lines: a cost that was not measured, or a node that the target cannot take. */
  isHatched: boolean;
}

/** An overlay with its data; data that is not loaded yet is null. */
export type Painted =
  | { overlay: "target" }
  /** `secondsOf`: what the kernel of each node takes, where that is known; else the node is as hot as its partition. */
  | { overlay: "cost"; hottestS: number; secondsOf: ReadonlyMap<number, number> }
  | { overlay: "certainty" }
  | { overlay: "coverage"; target: string; nodes: readonly NodeCoverage[] | null }
  | { overlay: "difference"; difference: Difference | null }
  | { overlay: "search"; triedId: string | undefined; isRefused: boolean; isLive: boolean; covered: number };

export interface Palette {
  isDark: boolean;
  background: string;
  /** For nodes of which the overlay knows nothing. */
  bare: string;
  /** The colour of a target. */
  target: (name: string) => string;
}

const STRONG = 3.2;
const CLEAR = 2.2;
const PALE = 0.4;

/** How `node`, which `partition` of the plan holds, is painted; null where the overlay leaves it unpainted. */
export function paintNode(painted: Painted, node: number, partition: PlanPartition | undefined, palette: Palette): NodePaint | null {
  switch (painted.overlay) {
    case "coverage":
      return covered(painted.target, painted.nodes?.[node], partition, palette);
    case "difference":
      return differing(painted.difference, node, partition, palette);
    case "target":
      return partition ? { fill: palette.target(partition.target), strength: 1, isHatched: false } : null;
    case "cost":
      return partition ? costly(painted.secondsOf.get(node) ?? partition.cost_s, painted.hottestS, palette) : null;
    case "certainty":
      return partition ? doubtful(partition, palette) : null;
    case "search":
      return searched(painted, node, partition, palette);
  }
}

/** The paints of the first `count` nodes, `holders` being their partitions. Equal paints of one partition are one object. */
export function paintNodes(painted: Painted, count: number, holders: ReadonlyMap<number, PlanPartition>, palette: Palette): (NodePaint | null)[] {
  const made = new Map<PlanPartition, Map<unknown, NodePaint | null>>();
  return Array.from({ length: count }, (_, node) => {
    const partition = holders.get(node);
    if (!partition) return paintNode(painted, node, undefined, palette);
    const mine = made.get(partition) ?? new Map<unknown, NodePaint | null>();
    made.set(partition, mine);
    const own = paintKey(painted, node);
    const known = mine.get(own);
    if (known !== undefined) return known;
    const paint = paintNode(painted, node, partition, palette);
    mine.set(own, paint);
    return paint;
  });
}

/** The values that the paint of a node depends on, besides its partition. */
function paintKey(painted: Painted, node: number): unknown {
  if (painted.overlay === "coverage") return painted.nodes?.[node]?.kind;
  if (painted.overlay === "cost") return painted.secondsOf.get(node);
  return painted.overlay === "difference" && painted.difference?.moved.has(node);
}

function searched(painted: Painted & { overlay: "search" }, node: number, partition: PlanPartition | undefined, palette: Palette): NodePaint | null {
  if (!partition) return node < painted.covered ? { fill: palette.bare, strength: CLEAR, isHatched: false } : null;
  const isTried = partition.id === painted.triedId;
  const isGuess = painted.isLive && !isTried && partition.source === "bound";
  return { fill: palette.target(partition.target), strength: isTried ? STRONG : 1, isHatched: isGuess || (isTried && painted.isRefused) };
}

function costly(seconds: number | null, hottestS: number, palette: Palette): NodePaint {
  if (seconds === null) return { fill: palette.bare, strength: CLEAR, isHatched: true };
  return { fill: heat(hottestS > 0 ? seconds / hottestS : 0, palette.isDark), strength: STRONG, isHatched: false };
}

function doubtful(partition: PlanPartition, palette: Palette): NodePaint {
  const { value, isGuess } = doubtOf(partition);
  return { fill: value === null ? palette.bare : doubtColour(value, palette.isDark), strength: value === null ? CLEAR : STRONG, isHatched: isGuess };
}

function covered(target: string, known: NodeCoverage | undefined, partition: PlanPartition | undefined, palette: Palette): NodePaint | null {
  if (!known || partition?.target === "host") return null;
  if (known.kind === "cannot") return { fill: palette.bare, strength: CLEAR, isHatched: true };
  const isChosen = partition?.target === target;
  const base = palette.target(target);
  return { fill: isChosen ? base : mix(base, palette.background, PALE), strength: CLEAR, isHatched: false };
}

function differing(difference: Difference | null, node: number, partition: PlanPartition | undefined, palette: Palette): NodePaint | null {
  const region = difference?.regionOf.get(node);
  if (!region || !partition || region.kind === "same") return null;
  const base = palette.target(partition.target);
  if (difference?.moved.has(node)) return { fill: base, strength: CLEAR, isHatched: false };
  return { fill: mix(base, palette.background, PALE), strength: CLEAR, isHatched: false };
}

/** True if two nodes look the same. */
export function isSamePaint(a: NodePaint | null, b: NodePaint | null): boolean {
  return a === b || (a !== null && b !== null && a.fill === b.fill && a.strength === b.strength && a.isHatched === b.isHatched);
}
