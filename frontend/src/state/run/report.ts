// Saves the report of the shown run: one file with the page and all of its data, which the server writes.

import { api, asApiError } from "../../data/api";
import { saveText } from "../download";
import { model } from "../model/model";
import { keptRun, runError } from "./run";

let isWriting = false;

/** Save the report of the kept run. The server works out every node's candidates for it, which takes a minute for a large model. */
export async function saveReport(): Promise<void> {
  const id = keptRun.peek()?.id;
  if (id === undefined || isWriting) return;
  isWriting = true;
  try {
    saveText(`${model.peek()?.info.name ?? "model"}-report.html`, "text/html", await api.report(id));
  } catch (error) {
    runError.value = asApiError(error);
  } finally {
    isWriting = false;
  }
}
