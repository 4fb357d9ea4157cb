// The shapes of a run as small multiples: the total of each, who runs what, and what changes from one shape to the next. Pure.

import { duration, signedDuration } from "../../base/format";
import type { RunShape, RunShapes, ShapesAnswer } from "../protocol";

/** Neighbouring nodes on one target. */
export interface Stretch {
  target: string;
  first: number;
  last: number;
}

export interface ShapeCard {
  name: string;
  weight: number;
  totalS: number;
  measuredS: number | null;
  /** The total as a share of the largest one. */
  share: number;
  stretches: Stretch[];
  /** The nodes that run elsewhere than at the shape before. */
  changed: number[];
  /** The crossover before this shape, in words; empty where its plan is that of the shape before, or no crossover was looked for. */
  crossover: string;
  /** Losses of the best plan of this shape at the others, in words. */
  losses: string[];
  isShown: boolean;
}

/** A card for each shape. */
export function shapeCards(found: RunShapes): ShapeCard[] {
  const largest = Math.max(...found.shapes.map(timeOf));
  return found.shapes.map((shape, index) => {
    const before = found.shapes[index - 1];
    const crossover = found.crossovers.find((one) => one.after === index - 1);
    const changed = before ? changedNodes(before, shape) : [];
    return {
      name: shape.name,
      weight: shape.weight,
      totalS: shape.total_s,
      measuredS: shape.measured_s,
      share: largest > 0 ? timeOf(shape) / largest : 0,
      stretches: stretchesOf(shape),
      changed,
      crossover: crossover && changed.length > 0 ? `${crossover.dimension} from ${crossover.below} to ${crossover.above}` : "",
      losses: lossesOf(found, index),
      isShown: index === found.shown,
    };
  });
}

function timeOf(shape: RunShape): number {
  return shape.measured_s ?? shape.total_s;
}

function targets(shape: RunShape): Map<number, string> {
  return new Map(shape.partitions.flatMap(({ target, nodes }) => nodes.map((node): [number, string] => [node, target])));
}

/** The plan of a shape as stretches of nodes in their order, each on one target. */
export function stretchesOf(shape: RunShape): Stretch[] {
  const made: Stretch[] = [];
  for (const [node, target] of [...targets(shape)].sort(([one], [other]) => one - other)) {
    const last = made.at(-1);
    if (last?.target === target) last.last = node;
    else made.push({ target, first: node, last: node });
  }
  return made;
}

function changedNodes(before: RunShape, after: RunShape): number[] {
  const old = targets(before);
  return [...targets(after)].filter(([node, target]) => old.get(node) !== target).map(([node]) => node);
}

function lossesOf(found: RunShapes, index: number): string[] {
  const lost = found.shapes[index]?.loses_s ?? [];
  return lost.flatMap((seconds, other) => {
    const name = found.shapes[other]?.name ?? "";
    if (other === index || seconds === 0) return [];
    return [seconds === null ? `${name}: not to be had` : `${name}: ${signedDuration(seconds)}`];
  });
}

/** Both answers in words, the chosen one first. */
export function answerTexts(found: RunShapes): string[] {
  const texts = [
    { key: "one_plan", text: `one plan for all shapes ${took(found.one_plan)}` },
    { key: "by_range", text: `one plan for each range ${took(found.by_range)}` },
  ];
  return texts.sort((one, other) => Number(other.key === found.chosen) - Number(one.key === found.chosen)).map(({ key, text }) => (key === found.chosen ? `${text} (chosen, by the ${found.decided_by})` : text));
}

function took(answer: ShapesAnswer): string {
  if (answer.total_s === null) return `is not to be had: ${answer.reason}`;
  return answer.measured_s === null ? `takes ${duration(answer.total_s)}, predicted` : `takes ${duration(answer.measured_s)}, measured`;
}
