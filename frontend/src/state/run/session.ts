// Saves the session: the open model with its runs, in one file.

import { api, asApiError } from "../../data/api";
import { save } from "../download";
import { model } from "../model/model";
import { keptRun, runError } from "./run";

/** Download the session of the open model, in which the kept run is shown first. */
export async function saveSession(): Promise<void> {
  const opened = model.peek();
  if (!opened) return;
  try {
    save(await api.sessionAddress(opened.info.id, keptRun.peek()?.id));
  } catch (error) {
    runError.value = asApiError(error);
  }
}
