// The best plans over sets of targets in words: which targets are worth having. Pure.

import { duration } from "../../base/format";
import type { TargetStep, Worth } from "../protocol";

/** The first thing to say: that one toolchain alone is as good, or how many are. */
export function worthText({ as_good: asGood, steps }: Worth): string {
  if (asGood.length === 0) return "no set of targets runs the whole model";
  const best = steps[steps.length - 1];
  if (asGood.length === 1) return `one toolchain alone is as good here: ${asGood[0] ?? ""}${best && best.targets.length > 1 ? `; the best mix saves ${savedText(steps)}` : ""}`;
  return `${asGood.length} toolchains are worth having here: ${asGood.join(" + ")}`;
}

function savedText(steps: readonly TargetStep[]): string {
  const [first, last] = [steps[0], steps[steps.length - 1]];
  return first && last ? `${duration(first.total_s - last.total_s)}, less than a hundredth` : "nothing";
}

/** The gain by a further target. */
export function stepText({ targets, total_s: totalS, gain_s: gainS, is_known: isKnown }: TargetStep): string {
  const brings = gainS === null ? "" : `, ${duration(gainS)} less than with one target fewer`;
  return `${targets.join(" + ")}: predicted ${duration(totalS)}${isKnown ? "" : " (an estimate)"}${brings}`;
}
