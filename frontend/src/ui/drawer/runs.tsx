// The tab "Runs": all kept runs, to be found, sorted, opened, starred, named, compared and deleted.

import type { JSX } from "preact";
import { count } from "../../base/format";
import type { RunSummary } from "../../data/protocol";
import { runsCsv } from "../../data/tables/csv";
import { saveText } from "../../state/download";
import { openRun } from "../../state/run/open_run";
import { run } from "../../state/run/run";
import { runToDelete, edited, changeRunFilter, markRun, runFilter, runOrder, runRows, runs, runsError, sortRuns, startEditing } from "../../state/run/runs";
import { ErrorCard } from "../widgets/error_card";
import { LongTable } from "../widgets/long_table";
import { SaveMenu } from "../widgets/save_menu";
import { NameField, RUN_COLUMNS } from "./run_cells";

export function RunsTab(): JSX.Element {
  const all = runs.value;
  const filter = runFilter.value;
  const rows = runRows.value;
  return (
    <div class="filling">
      <div class="table-bar">
        <div class="filters" role="group" aria-label="Filter">
          <input type="text" aria-label="Words" class="wide" placeholder="name, note, option, target" autocomplete="off" spellcheck={false} value={filter.text} onInput={(event) => changeRunFilter({ text: event.currentTarget.value })} />
          <label>
            <input type="checkbox" checked={filter.isStarredOnly} onChange={(event) => changeRunFilter({ isStarredOnly: event.currentTarget.checked })} /> starred
          </label>
          <label>
            <input type="checkbox" checked={filter.isEveryModel} onChange={(event) => changeRunFilter({ isEveryModel: event.currentTarget.checked })} /> of every model
          </label>
        </div>
        <span class="spacer" />
        {all && <span class="muted" role="status">{`${count(rows.length)} of ${count(all.length)}`}</span>}
        {rows.length > 0 && <SaveMenu what="the runs" formats={[{ name: "CSV", says: "Save these runs, in this order", save: () => saveText("runs.csv", "text/csv", runsCsv(runRows.peek())) }]} />}
      </div>
      {runsError.value && <ErrorCard error={runsError.value} />}
      {!all ? (
        runsError.value === null && <p class="muted">Loading the runs…</p>
      ) : rows.length === 0 ? (
        <p class="muted">{all.length === 0 ? "No run is kept yet." : "No run passes the filter."}</p>
      ) : (
        <LongTable
          label="Runs"
          columns={filter.isEveryModel ? RUN_COLUMNS : RUN_COLUMNS.filter(({ id }) => id !== "model")}
          rows={rows}
          keyOf={(row) => row.id}
          isChosen={(row) => row.id === run.value?.id}
          pick={(row) => void openRun(row)}
          point={() => undefined}
          order={runOrder.value}
          sortBy={sortRuns}
          editor={(row) => (edited.value?.id === row.id ? <NameField row={row} /> : undefined)}
          keyOn={rowKey}
        />
      )}
    </div>
  );
}

/** Keys on a row: F2 edits its name, Delete deletes it, * stars it. */
function rowKey(event: KeyboardEvent, row: RunSummary): void {
  const does: Record<string, () => void> = {
    F2: () => startEditing(row),
    Delete: () => (row.state === "recorded" ? undefined : void (runToDelete.value = row.id)),
    "*": () => void markRun(row.id, { is_starred: !row.is_starred }),
  };
  const action = does[event.key];
  if (!action || event.ctrlKey || event.metaKey || event.altKey) return;
  event.preventDefault();
  event.stopPropagation();
  action();
}
