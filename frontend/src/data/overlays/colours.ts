// The one place that says how an overlay colours a node. The graph (near and far) and the strip both draw what stands here.

import { mix } from "../../base/colour";
import type { PlanPartition } from "../protocol";
import { doubtOf } from "./certainty";
import type { NodeCoverage } from "./coverage";
import type { Difference } from "./difference";
import { doubt as doubtColour, heat } from "./ramps";

export interface NodePaint {
  fill: string;
  /** How much of the fill is seen from near, times the theme's tint: a scale has to be read, a target's colour only told. */
  strength: number;
  /** Drawn with lines across: a guess, or what cannot be. */
  isHatched: boolean;
}

/** What an overlay knows; what is not known yet is null. */
export type Painted =
  | { overlay: "target" }
  | { overlay: "cost"; hottestS: number }
  | { overlay: "certainty" }
  | { overlay: "coverage"; target: string; nodes: readonly NodeCoverage[] | null }
  | { overlay: "difference"; difference: Difference | null }
  | { overlay: "search"; triedId: string | undefined; isRefused: boolean; isLive: boolean; covered: number };

export interface Palette {
  isDark: boolean;
  background: string;
  /** For what an overlay has nothing to say of. */
  bare: string;
  /** The colour of a target. */
  target: (name: string) => string;
}

const STRONG = 3.2;
const CLEAR = 2.2;
const PALE = 0.4;

/** How `node`, which `partition` of the plan holds, is painted; null where the overlay says nothing of it. */
export function paintNode(painted: Painted, node: number, partition: PlanPartition | undefined, palette: Palette): NodePaint | null {
  switch (painted.overlay) {
    case "coverage":
      return covered(painted.target, painted.nodes?.[node], partition, palette);
    case "difference":
      return differing(painted.difference, node, partition, palette);
    case "target":
      return partition ? { fill: palette.target(partition.target), strength: 1, isHatched: false } : null;
    case "cost":
      return partition ? costly(partition, painted.hottestS, palette) : null;
    case "certainty":
      return partition ? doubtful(partition, palette) : null;
    case "search":
      return searched(painted, node, partition, palette);
  }
}

/** How the nodes from 0 on are painted, `holders` being the partitions that hold them: those of one partition that look alike are painted once. */
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

/** What a node's paint depends on besides its partition. */
function paintKey(painted: Painted, node: number): unknown {
  if (painted.overlay === "coverage") return painted.nodes?.[node]?.kind;
  return painted.overlay === "difference" && painted.difference?.moved.has(node);
}

function searched(painted: Painted & { overlay: "search" }, node: number, partition: PlanPartition | undefined, palette: Palette): NodePaint | null {
  if (!partition) return node < painted.covered ? { fill: palette.bare, strength: CLEAR, isHatched: false } : null;
  const isTried = partition.id === painted.triedId;
  const isGuess = painted.isLive && !isTried && partition.source === "estimate";
  return { fill: palette.target(partition.target), strength: isTried ? STRONG : 1, isHatched: isGuess || (isTried && painted.isRefused) };
}

function costly(partition: PlanPartition, hottestS: number, palette: Palette): NodePaint {
  if (partition.cost_s === null) return { fill: palette.bare, strength: CLEAR, isHatched: true };
  return { fill: heat(hottestS > 0 ? partition.cost_s / hottestS : 0, palette.isDark), strength: STRONG, isHatched: false };
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

/** Whether two nodes look the same. */
export function isSamePaint(a: NodePaint | null, b: NodePaint | null): boolean {
  return a === b || (a !== null && b !== null && a.fill === b.fill && a.strength === b.strength && a.isHatched === b.isHatched);
}
