// Saves a file of a run in a format of others; the server makes it.

import { api, asApiError } from "../../data/api";
import type { RunSnapshot } from "../../data/protocol";
import { saveBlob } from "../download";
import { runError } from "./run";

/** Save the file `name` of the exports of a run (`ExportInfo.exports`). */
export async function saveExport(run: Pick<RunSnapshot, "id" | "model_name">, name: string): Promise<void> {
  try {
    saveBlob(`${run.model_name}-${name}`, await api.exportFile(run.id, name));
  } catch (error) {
    runError.value = asApiError(error);
  }
}
