// The plans of a run over several shapes: fetched when the tab that shows them is open, and cached for the last few runs.

import { computed, effect, signal } from "@preact/signals";
import { api } from "../../data/api";
import { shapeCards } from "../../data/plan/shapes";
import type { RunShapes } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { isShown } from "../display";
import { run } from "../run/run";

const KEPT = 4;
const known = new Map<string, RunShapes>();

/** The shapes of the kept run; null where it has only one, or they are not there yet. */
export const shapes = signal<RunShapes | null>(null);

export const cards = computed(() => (shapes.value ? shapeCards(shapes.value) : []));

const wantedRun = computed(() => (isShown("totals") && run.value && hasEnded(run.value) && run.value.plan ? run.value.id : null));

/** Keep `shapes` in step with the run and with what the page displays. */
export function watchShapes(): void {
  effect(() => {
    const id = wantedRun.value;
    if (id === null) return;
    const data = known.get(id);
    show(data);
    if (!data) void load(id);
  });
}

function show(data: RunShapes | undefined): void {
  shapes.value = data && data.shapes.length > 0 ? data : null;
}

/** A run without a record has no shapes to show; nothing else is lost with them, so no error is shown. */
async function load(id: string): Promise<void> {
  const data = await api.shapes(id).catch(() => undefined);
  if (!data) return;
  known.set(id, data);
  const oldest = known.keys().next().value;
  if (known.size > KEPT && oldest !== undefined) known.delete(oldest);
  if (wantedRun.peek() === id) show(data);
}
