// The columns of the list of runs.

import type { JSX } from "preact";
import { duration, relativeError } from "../../base/format";
import { MEANING } from "../../data/plan/basis";
import { isRight, largestError } from "../../data/plan/verification";
import type { RunSummary } from "../../data/protocol";
import { kindOf, optionsOf, whenOf, type RunColumn } from "../../data/tables/run_rows";
import { model } from "../../state/model/model";
import { compareWith, forgetRun } from "../../state/run/open_run";
import { run } from "../../state/run/run";
import { runToDelete, edited, finishEditing, markRun, startEditing } from "../../state/run/runs";
import { Badge } from "../widgets/badge";
import type { Column } from "../widgets/long_table";
import { RowButton, stopped } from "../widgets/row_button";

export const RUN_COLUMNS: readonly Column<RunSummary, RunColumn>[] = [
  { id: "name", title: "name", cell: (row) => <Name row={row} /> },
  { id: "star", title: "star", widthPx: 56, cell: (row, isReached) => <Star row={row} isReached={isReached} /> },
  { id: "model", title: "model", widthPx: 120, cell: (row) => <span class="cut">{row.model_name}</span> },
  { id: "when", title: "when", widthPx: 132, cell: (row) => <span title={`${row.created}\n${row.machine}`}>{whenOf(row)}</span> },
  { id: "targets", title: "targets", widthPx: 96, cell: (row) => <Targets row={row} /> },
  { id: "options", title: "options", widthPx: 136, hint: "the run's options, other than its targets; empty for the defaults", cell: (row) => <Options row={row} /> },
  { id: "total", title: "predicted", widthPx: 78, isNumber: true, hint: MEANING.predicted, cell: (row) => (row.total_s === null ? "" : duration(row.total_s)) },
  { id: "measured", title: "measured", widthPx: 78, isNumber: true, hint: `${MEANING.measured}; empty where it was measured by itself alone`, cell: (row) => (row.measured_s === null ? "" : duration(row.measured_s)) },
  { id: "verified", title: "verified", widthPx: 80, hint: "largest relative error of the whole plan against the reference", cell: (row) => <Verified row={row} /> },
  { id: "state", title: "state", widthPx: 84, cell: (row) => <span class={row.state === "failed" ? "bad" : undefined}>{row.state}</span> },
  { id: "note", title: "note", widthPx: 200, cell: (row, isReached) => <NoteAndActions row={row} isReached={isReached} /> },
];

interface CellProps {
  row: RunSummary;
  isReached?: boolean;
}

function Name({ row }: CellProps): JSX.Element {
  return <span class="cut">{row.name === "" ? <span class="muted">{kindOf(row)}</span> : row.name}</span>;
}

function Star({ row, isReached }: CellProps): JSX.Element {
  return (
    <RowButton says="Star" isReached={isReached} isPressed={row.is_starred} act={() => void markRun(row.id, { is_starred: !row.is_starred })}>
      {row.is_starred ? "★" : "☆"}
    </RowButton>
  );
}

function Targets({ row }: CellProps): JSX.Element {
  return (
    <span title={row.targets.join(", ")}>
      {row.targets.map((target) => (
        <span key={target}>
          <Badge target={target} /> <span class="unseen">{target}</span>
        </span>
      ))}
    </span>
  );
}

function Options({ row }: CellProps): JSX.Element {
  const words = optionsOf(row);
  return (
    <span class="cut" title={words.replaceAll(", ", "\n")}>
      {words}
    </span>
  );
}

function Verified({ row }: CellProps): JSX.Element | null {
  const error = largestError(row.verify);
  if (error === null) return null;
  const right = isRight(row.verify) === true;
  return <span class={right ? "good" : "bad"}>{`${right ? "✓" : "✗"} ${relativeError(error)}`}</span>;
}

function NoteAndActions({ row, isReached }: CellProps): JSX.Element {
  if (edited.value?.id === row.id) return <NoteField row={row} />;
  if (runToDelete.value === row.id) return <Confirm row={row} />;
  const canCompare = row.total_s !== null && row.model === model.value?.info.id && row.id !== run.value?.id && (run.value?.plan ?? null) !== null;
  return (
    <span class="note-cell">
      <span class="cut" title={row.note}>
        {row.note}
      </span>
      <span class="row-buttons">
        <RowButton says="Name and note" hint="Write a name and a note (F2)" isReached={isReached} act={() => startEditing(row)}>
          ✎
        </RowButton>
        <RowButton says="Compare" hint="Compare the shown plan with this one" isReached={isReached} isOff={!canCompare} act={() => compareWith(row)}>
          ⇄
        </RowButton>
        <RowButton says="Delete" hint={row.state === "recorded" ? "It comes with its sample" : "Delete (Del)"} isReached={isReached} isOff={row.state === "recorded" || isGoing(row)} act={() => (runToDelete.value = row.id)}>
          ✕
        </RowButton>
      </span>
    </span>
  );
}

function isGoing(row: RunSummary): boolean {
  return row.state === "queued" || row.state === "running";
}

/** Keys in a field: Enter saves, Escape discards. */
function fieldKey(event: KeyboardEvent): void {
  if (event.key !== "Enter" && event.key !== "Escape") return;
  event.preventDefault();
  event.stopPropagation();
  const row = event.currentTarget instanceof Element ? event.currentTarget.closest("tr") : null;
  if (event.key === "Enter") finishEditing();
  else edited.value = null;
  requestAnimationFrame(() => row?.querySelector<HTMLElement>("button.row")?.focus());
}

export function NameField({ row }: { row: RunSummary }): JSX.Element {
  return (
    <input
      type="text"
      class="in-cell"
      aria-label="Name"
      placeholder="name"
      maxLength={120}
      autofocus
      ref={(field) => {
        if (field && document.activeElement?.closest("tr") !== field.closest("tr")) field.focus();
      }}
      value={edited.value?.name ?? row.name}
      onClick={(event) => event.stopPropagation()}
      onInput={(event) => (edited.value = { note: row.note, ...edited.value, id: row.id, name: event.currentTarget.value })}
      onKeyDown={fieldKey}
    />
  );
}

function NoteField({ row }: CellProps): JSX.Element {
  return (
    <span class="note-cell">
      <input
        type="text"
        class="in-cell"
        aria-label="Note"
        placeholder="note"
        maxLength={2000}
        value={edited.value?.note ?? row.note}
        onClick={(event) => event.stopPropagation()}
        onInput={(event) => (edited.value = { name: row.name, ...edited.value, id: row.id, note: event.currentTarget.value })}
        onKeyDown={fieldKey}
      />
      <RowButton says="Keep" hint="Keep (Enter)" isReached act={finishEditing}>
        ✓
      </RowButton>
    </span>
  );
}

function Confirm({ row }: CellProps): JSX.Element {
  return (
    <span class="note-cell" role="group" aria-label="Delete this run?">
      <span>Delete for good?</span>
      <span class="row-buttons">
        <button type="button" class="link bad" ref={(button) => button?.focus()} onClick={stopped(() => void forgetRun(row))}>
          Delete
        </button>
        <button type="button" class="link" onClick={stopped(() => (runToDelete.value = null))}>
          Keep
        </button>
      </span>
    </span>
  );
}
