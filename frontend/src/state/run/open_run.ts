// The actions on a run of the list: open it, with its model where another one is open; compare it with the shown one; delete it.

import { batch } from "@preact/signals";
import { api, asApiError } from "../../data/api";
import type { RunSummary } from "../../data/protocol";
import { showDrawer } from "../display";
import { model } from "../model/model";
import { openSource } from "../model/open";
import { compare } from "../plan/compare";
import { adoptRun } from "../plan/decisions";
import { clearRun, run, showRun } from "./run";
import { deleteRun, runsError } from "./runs";

const RECORDED = "recorded-";

/** Show a run. The model of a recorded run is that of its sample, which the server may not have opened yet. */
export async function openRun(row: RunSummary): Promise<void> {
  if (row.id === run.peek()?.id) return;
  if (row.model !== model.peek()?.info.id) {
    await openSource(row.id.startsWith(RECORDED) ? { kind: "sample", name: row.id.slice(RECORDED.length) } : { kind: "id", id: row.model }, {}, row.id);
    return;
  }
  try {
    const snapshot = await api.run(row.id);
    batch(() => {
      showRun(snapshot);
      adoptRun(snapshot);
      runsError.value = null;
    });
  } catch (error) {
    runsError.value = asApiError(error);
  }
}

/** Compare the shown plan with that of a run. */
export function compareWith(row: RunSummary): void {
  batch(() => {
    compare("", row.id);
    showDrawer("compare");
  });
}

/** Delete a run; if it is the shown one, no run is shown any more. */
export async function forgetRun(row: RunSummary): Promise<void> {
  if (!(await deleteRun(row.id)) || run.peek()?.id !== row.id) return;
  batch(() => {
    clearRun();
    adoptRun(null);
  });
}
