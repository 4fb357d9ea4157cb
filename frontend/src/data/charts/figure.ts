// A chart before it is drawn: its traces and axes, a summary in words, and its numbers as a table. Pure.

import type { Cell } from "../../base/csv";
import { printable } from "../../base/printable";

export interface Figure {
  /** Plotly's traces. */
  traces: Trace[];
  axes: { x: Axis; y: Axis };
  /** Further fields of Plotly's layout. */
  more?: object;
  /** The chart in words, for those who cannot see it. */
  summary: string;
  header: readonly string[];
  rows: readonly (readonly Cell[])[];
}

/** An axis of Plotly's layout; its title is always given. */
export interface Axis {
  title: { text: string };
  [key: string]: unknown;
}

export interface Trace {
  name: string;
  /** For each point the id of the run or candidate that a click on it shows. */
  customdata?: readonly string[];
  [key: string]: unknown;
}

/** The reason why there is nothing to draw. */
export interface NoFigure {
  why: string;
}

/** A printable name without tags, which Plotly would read, and no longer than `length`. */
export function plainText(text: string, length = 40): string {
  const shown = printable(text);
  const short = shown.length <= length ? shown : `${shown.slice(0, length - 1)}…`;
  return short.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
