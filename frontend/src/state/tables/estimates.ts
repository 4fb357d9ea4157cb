// The roofline estimates for the candidates of the shown run, fetched when a chart compares them with measured costs.

import { signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import type { ApiError, RunEstimates } from "../../data/protocol";

export type EstimatesState = { kind: "none" } | { kind: "loading"; run: string } | { kind: "ready"; data: RunEstimates } | { kind: "failed"; run: string; error: ApiError };

export const estimates = signal<EstimatesState>({ kind: "none" });

/** Fetch the estimates of a run, unless they are there or being fetched; after a failure they are fetched again. */
export async function wantEstimates(run: string): Promise<void> {
  const now = estimates.peek();
  if ((now.kind === "ready" ? now.data.run : now.kind === "loading" ? now.run : null) === run) return;
  const asked: EstimatesState = { kind: "loading", run };
  estimates.value = asked;
  const found = await api.estimates(run).then(
    (data): EstimatesState => ({ kind: "ready", data }),
    (error: unknown): EstimatesState => ({ kind: "failed", run, error: asApiError(error) }),
  );
  if (estimates.peek() === asked) estimates.value = found;
}
