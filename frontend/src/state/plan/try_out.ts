// The plan with a described toolchain that is tried beside the shown plan, and neither kept nor discarded yet.

import { signal } from "@preact/signals";
import type { RunSnapshot, TwoPlans } from "../../data/protocol";
import type { Overlay } from "../display";

/** The name of the toolchain, the runs without and with it, and the overlay that was on before. */
export interface TryOut {
  name: string;
  before: RunSnapshot;
  after: RunSnapshot;
  /** How the plan with it compares with the one without. */
  change: TwoPlans;
  overlay: Overlay;
}

export const tryOut = signal<TryOut | null>(null);
