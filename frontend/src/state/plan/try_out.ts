// The plan with a described toolchain that is tried beside the shown one, and not kept yet.

import { signal } from "@preact/signals";
import type { RunSnapshot } from "../../data/protocol";
import type { Overlay } from "../display";

/** What was tried: the plan that it was compared with, the one that came out, and the overlay that was on. */
export interface TryOut {
  name: string;
  before: RunSnapshot;
  after: RunSnapshot;
  overlay: Overlay;
}

export const tryOut = signal<TryOut | null>(null);
