// The card of the open model and the definitions of its operators: fetched when the tab "What it is" is first shown.

import { computed, effect, signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import type { ApiError, ModelCard, OperatorDefinition } from "../../data/protocol";
import { panelTab } from "../display";
import { model } from "./model";

interface Details {
  id: string;
  card: ModelCard | null;
  operators: ReadonlyMap<string, OperatorDefinition>;
  error: ApiError | null;
}

const known = signal<Details | null>(null);

const wanted = computed(() => {
  const info = model.value?.info;
  return info?.is_onnx && !info.is_missing && panelTab.value === "node" ? info.id : null;
});

/** The details of the open model; null before they have come. */
export const details = computed((): Details | null => (known.value?.id === model.value?.info.id ? known.value : null));

/** Keep the details in step with the model and the tab. */
export function watchDetails(): void {
  effect(() => {
    const id = wanted.value;
    if (id !== null && known.peek()?.id !== id) void load(id);
  });
}

async function load(id: string): Promise<void> {
  try {
    const [card, { operators }] = await Promise.all([api.card(id), api.operators(id)]);
    known.value = { id, card, operators: new Map(operators.map((one) => [one.op, one])), error: null };
  } catch (error) {
    known.value = { id, card: null, operators: new Map(), error: asApiError(error) };
  }
}
