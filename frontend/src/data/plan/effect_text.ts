// The effect of one term of a plan (a pin, a veto, …) in words. Pure.

import { signedDuration, duration } from "../../base/format";
import type { Effect } from "../protocol";

const NOTHING_S = 0.5e-9;

/** The cost of a term alone, and beside the other terms where that differs. */
export function effectText({ alone_s: alone, saves_s: saves, refuses }: Effect): string {
  if (alone === null) return "cannot hold, even alone";
  if (refuses === 0) return "no effect: it forbids nothing that there is";
  const isFree = Math.abs(alone) < NOTHING_S;
  const savesNothing = saves === null || Math.abs(saves) < NOTHING_S;
  if (isFree && savesNothing) return "no effect: the best plan holds it anyway";
  const own = isFree ? "costs nothing alone" : alone < 0 ? `${signedDuration(alone)} alone` : `costs ${duration(alone)}`;
  if (saves === null || Math.abs(saves - alone) < NOTHING_S) return own;
  const change = saves < 0 ? `costs ${duration(-saves)}` : `saves ${duration(saves)}`;
  const beside = savesNothing ? "taking it back saves nothing, for the others ask for the same" : `taking it back ${change}`;
  return `${own}${isFree || alone < 0 ? "" : " alone"}; ${beside}`;
}
