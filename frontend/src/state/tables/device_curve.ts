// How the best plan changes with the memory of a device or the speed of its link, fetched when the user asks.

import { computed, signal } from "@preact/signals";
import { api } from "../../data/api";
import type { DeviceCurve } from "../../data/protocol";
import { Asking } from "../asking";
import { keptRun } from "../run/run";

export type Quantity = "memory" | "link";

const fetched = signal<{ run: string; curve: DeviceCurve } | null>(null);
const asking = new Asking();
export const { isBusy: isAskingCurve, error: curveError } = asking;

/** The curve that was asked for last, of the run whose plan is kept; null where none was. */
export const deviceCurve = computed(() => (fetched.value?.run === keptRun.value?.id ? (fetched.value?.curve ?? null) : null));

/** Ask for a curve; the one that is shown goes away. */
export async function askCurve(location: string, quantity: Quantity): Promise<void> {
  const run = keptRun.peek()?.id;
  if (run === undefined) return;
  const known = deviceCurve.peek();
  fetched.value = null;
  if (known?.location === location && known.quantity === quantity) return;
  const curve = await asking.ask(() => api.deviceCurve(run, { location, quantity }));
  if (curve) fetched.value = { run, curve };
}
