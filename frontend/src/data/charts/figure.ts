// What a chart is before it is drawn: its traces and axes, what it says in words, and its numbers as a table. Pure.

import type { Cell } from "../../base/csv";

export interface Figure {
  /** Plotly's traces. */
  traces: Trace[];
  axes: { x: Axis; y: Axis };
  /** Further parts of Plotly's layout. */
  more?: object;
  /** What the chart says, for who cannot see it. */
  summary: string;
  header: readonly string[];
  rows: readonly (readonly Cell[])[];
}

/** Plotly's, of which the page writes the title itself. */
export interface Axis {
  title: { text: string };
  [key: string]: unknown;
}

export interface Trace {
  name: string;
  /** What a click on a point is about, one for each point. */
  customdata?: readonly string[];
  [key: string]: unknown;
}

/** Nothing to draw, and why. */
export interface NoFigure {
  why: string;
}

/** Plotly reads tags in texts: what a model or a person names has none. */
export function plainText(text: string, length = 40): string {
  const short = text.length <= length ? text : `${text.slice(0, length - 1)}…`;
  return short.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;");
}
