// The clock of the shown run: the seconds since its creation, as its server counts them, updated about every second.

import { effect, signal } from "@preact/signals";
import { hasEnded } from "../../data/run/ended";
import { run } from "./run";

const TICK_MS = 1000;

export const nowS = signal(0);

/** Keep the clock going while the run goes on. */
export function watchClock(): void {
  let heard = { atMs: 0, nowS: 0 };
  let ticking: ReturnType<typeof setInterval> | undefined;
  const tick = (): void => void (nowS.value = heard.nowS + (performance.now() - heard.atMs) / 1000);
  effect(() => {
    const current = run.value;
    heard = { atMs: performance.now(), nowS: current?.now_s ?? 0 };
    tick();
    const isGoing = current !== null && !hasEnded(current);
    if (isGoing) ticking ??= setInterval(tick, TICK_MS);
    else {
      clearInterval(ticking);
      ticking = undefined;
    }
  });
}
