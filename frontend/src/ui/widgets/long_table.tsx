// A table of any length, of which only the rows in view are in the DOM. Its headers sort it, arrow keys walk it, and the button of a row
// chooses the row. Screen readers get the number of rows and the index of each.

import { useSignal, type Signal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useLayoutEffect, useRef } from "preact/hooks";
import { cancelFrame, requestFrame } from "../../base/frame_scheduler";
import { scrolledTo, windowOf } from "../../base/row_window";

export interface Column<Row, Id extends string> {
  id: Id;
  title: string;
  /** The width in pixels; a column without one takes the rest. */
  widthPx?: number;
  isNumber?: boolean;
  hint?: string;
  /** `isReached`: the tab key reaches this row, so that the buttons in its cells must be reachable, too. */
  cell: (row: Row, isReached: boolean) => ComponentChildren;
}

interface LongTableProps<Row, Id extends string> {
  label: string;
  /** The first column is the header of the row, and the button that chooses it. */
  columns: readonly Column<Row, Id>[];
  rows: readonly Row[];
  keyOf: (row: Row) => string;
  isChosen: (row: Row) => boolean;
  pick: (row: Row) => void;
  point: (row: Row | null) => void;
  order?: { by: Id; isDown: boolean };
  sortBy?: (id: Id) => void;
  /** The content of the first cell in place of its button, for a row that is being edited. */
  editor?: (row: Row) => ComponentChildren;
  /** Handles keys on the button of a row, besides those that walk. */
  keyOn?: (event: KeyboardEvent, row: Row) => void;
}

/** A column without a width of its own takes what is left, and this at least: a narrow window scrolls to the side. */
const LEAST_PX = 128;
const ROW_PX = 26;
const PAGE_ROWS = 8;

export function LongTable<Row, Id extends string>(props: LongTableProps<Row, Id>): JSX.Element {
  const { label, columns, rows } = props;
  const box = useRef<HTMLDivElement>(null);
  const top = useSignal(0);
  const height = useSignal(200);
  const wanted = useRef<number | null>(null);
  useMeasured(box, top, height);
  useEffect(() => {
    box.current?.scrollTo({ top: 0 });
  }, [rows]);
  useLayoutEffect(() => {
    if (wanted.current === null) return;
    const row = box.current?.querySelector<HTMLElement>(`[data-row="${wanted.current}"] button`);
    if (!row) return;
    wanted.current = null;
    row.focus({ preventScroll: true });
  });
  const at = useRef<Row | null>(null);
  const point = (row: Row | null): void => {
    if (row === at.current) return;
    at.current = row;
    props.point(row);
  };
  // Not when the pointer enters a row: rows that scroll by under a resting pointer are not pointed at.
  const pointed = (event: PointerEvent): void => point(rows[rowAt(event.target)] ?? null);
  const view = windowOf(rows.length, ROW_PX, top.value, height.value);
  const entry = Math.min(rows.length - 1, Math.ceil(top.value / ROW_PX));
  const goTo = (index: number): void => {
    const next = Math.max(0, Math.min(rows.length - 1, index));
    wanted.current = next;
    const scrolled = scrolledTo(next, ROW_PX, top.peek(), height.peek());
    box.current?.scrollTo({ top: scrolled });
    box.current?.querySelector<HTMLElement>(`[data-row="${next}"] button`)?.focus({ preventScroll: true });
  };
  return (
    <div class="long-table" ref={box} onKeyDown={(event) => walk(event, rows.length, goTo)} onPointerMove={pointed} onPointerLeave={() => point(null)}>
      <table aria-label={label} aria-rowcount={rows.length + 1} style={{ minWidth: `${columns.reduce((sum, { widthPx }) => sum + (widthPx ?? LEAST_PX), 0)}px` }}>
        <colgroup>
          {columns.map(({ id, widthPx }) => (
            <col key={id} style={widthPx === undefined ? undefined : { width: `${widthPx}px` }} />
          ))}
        </colgroup>
        <Head {...props} />
        <tbody>
          {view.above > 0 && <Room px={view.above} columns={columns.length} />}
          {rows.slice(view.first, view.end).map((row, i) => (
            <Line key={props.keyOf(row)} row={row} index={view.first + i} isEntry={view.first + i === entry} {...props} />
          ))}
          {view.below > 0 && <Room px={view.below} columns={columns.length} />}
        </tbody>
      </table>
    </div>
  );
}

/** Measure the scroll position and the height, once a frame at most. */
function useMeasured(box: { current: HTMLDivElement | null }, top: Signal<number>, height: Signal<number>): void {
  useEffect(() => {
    const element = box.current;
    if (!element) return undefined;
    const measure = (): boolean => {
      top.value = element.scrollTop;
      height.value = element.clientHeight;
      return false;
    };
    const soon = (): void => requestFrame(measure);
    const observer = new ResizeObserver(soon);
    observer.observe(element);
    element.addEventListener("scroll", soon, { passive: true });
    return () => {
      observer.disconnect();
      element.removeEventListener("scroll", soon);
      cancelFrame(measure);
    };
  }, [box, top, height]);
}

/** The index of the row that holds an element; NaN where none does. */
function rowAt(element: EventTarget | null): number {
  const row = element instanceof Element ? element.closest<HTMLElement>("[data-row]") : null;
  return Number(row?.dataset["row"] ?? NaN);
}

function walk(event: KeyboardEvent, count: number, goTo: (index: number) => void): void {
  const at = rowAt(event.target);
  if (Number.isNaN(at) || event.target instanceof HTMLInputElement) return;
  const to: Record<string, number> = { ArrowDown: at + 1, ArrowUp: at - 1, PageDown: at + PAGE_ROWS, PageUp: at - PAGE_ROWS, Home: 0, End: count - 1 };
  const next = to[event.key];
  if (next === undefined) return;
  event.preventDefault();
  event.stopPropagation();
  goTo(next);
}

function Room({ px, columns }: { px: number; columns: number }): JSX.Element {
  return (
    <tr class="room" aria-hidden="true">
      <td colSpan={columns} style={{ height: `${px}px` }} />
    </tr>
  );
}

function Head<Row, Id extends string>({ columns, order, sortBy }: LongTableProps<Row, Id>): JSX.Element {
  return (
    <thead>
      <tr aria-rowindex={1}>
        {columns.map(({ id, title, hint, isNumber }) => {
          const isSorted = order?.by === id;
          const direction = order?.isDown ? "descending" : "ascending";
          return (
            <th key={id} scope="col" class={isNumber ? "number" : undefined} title={hint} aria-sort={isSorted ? direction : sortBy && title !== "" ? "none" : undefined}>
              {sortBy && title !== "" ? (
                <button type="button" class="sorter" onClick={() => sortBy(id)}>
                  {title}
                  <span aria-hidden="true">{isSorted ? (order.isDown ? " ▾" : " ▴") : ""}</span>
                </button>
              ) : (
                title
              )}
            </th>
          );
        })}
      </tr>
    </thead>
  );
}

interface LineProps<Row, Id extends string> extends LongTableProps<Row, Id> {
  row: Row;
  index: number;
  /** True if the tab key enters the table at this row. */
  isEntry: boolean;
}

function Line<Row, Id extends string>({ row, index, isEntry, columns, isChosen, pick, editor, keyOn }: LineProps<Row, Id>): JSX.Element {
  const chosen = isChosen(row);
  const isReached = isEntry || chosen;
  const edited = editor?.(row);
  return (
    <tr data-row={index} aria-rowindex={index + 2} class={chosen ? "selected" : undefined} onClick={() => pick(row)}>
      {columns.map(({ id, cell, isNumber }, i) =>
        i === 0 ? (
          <th key={id} scope="row">
            {edited ?? (
              <button type="button" class="row" aria-pressed={chosen} tabIndex={isReached ? 0 : -1} onKeyDown={keyOn && ((event) => keyOn(event, row))}>
                {cell(row, isReached)}
              </button>
            )}
          </th>
        ) : (
          <td key={id} class={isNumber ? "number" : undefined}>
            {cell(row, isReached)}
          </td>
        ),
      )}
    </tr>
  );
}
