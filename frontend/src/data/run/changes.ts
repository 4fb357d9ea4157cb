// Merges what changed of a run's snapshot into the known one. What did not change stays the same object. Pure.

import { immutableJSONPatch, type JSONPatchDocument } from "immutable-json-patch";
import type { Change, RunSnapshot } from "../protocol";

/** The run after a change; undefined where the change belongs to another snapshot than the known one. */
export function changed(known: RunSnapshot, { after, patch }: Change): RunSnapshot | undefined {
  if (after !== null && after !== known.seq) return undefined;
  return immutableJSONPatch<RunSnapshot, RunSnapshot>(known, patch as JSONPatchDocument);
}
