// Saves a file of a run in a format of others; the server makes it.

import { signal } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import type { RunSnapshot } from "../../data/protocol";
import { saveBlob } from "../download";
import { runError } from "./run";

/** The file that the server is making; null where it makes none. A report of a large model takes minutes. */
export const beingMade = signal<string | null>(null);

/** Save the file `name` of the exports of a run (`ExportInfo.exports`), unless another is being made. */
export async function saveExport(run: Pick<RunSnapshot, "id" | "model_name">, name: string): Promise<void> {
  if (beingMade.peek() !== null) return;
  beingMade.value = name;
  try {
    saveBlob(`${run.model_name}-${name}`, await api.exportFile(run.id, name));
  } catch (error) {
    runError.value = asApiError(error);
  } finally {
    beingMade.value = null;
  }
}
