// Measures the texts of boxes and edge labels, once before the layout. In go boxes, out come sizes in graph pixels.

import { eachOf, type LongWork } from "../../base/long_work";
import type { BuiltGraph, Box } from "../boxes/build";

export const FONT_FAMILY = '"Segoe UI", system-ui, -apple-system, "Noto Sans", "DejaVu Sans", sans-serif';
export const TITLE_FONT = `12px ${FONT_FAMILY}`;
export const ROW_FONT = `10px ${FONT_FAMILY}`;
export const ROW_NAME_FONT = `bold 10px ${FONT_FAMILY}`;
export const LABEL_FONT = `10px ${FONT_FAMILY}`;

export const TITLE_HEIGHT = 22;
export const ROW_HEIGHT = 14;
export const BODY_PAD = 4;
export const SIDE_PAD = 8;
const MIN_WIDTH = 56;
const LABEL_HEIGHT = 12;
/** The space before a group's name for its handle, and under its rows for its bar. */
export const HANDLE_WIDTH = 16;
export const BAR_HEIGHT = 10;

/** The width of a text in a font, in pixels. */
export type TextMeasurer = (text: string, font: string) => number;

export interface Sizes {
  /** Per drawn box, in their order: width, height. */
  boxes: Float64Array;
  /** Per edge: width and height of its label, 0 where it has none or is a stub. */
  labels: Float64Array;
}

/** Measure the drawn boxes and all labels of a graph. */
export function* measuring(graph: BuiltGraph, text: TextMeasurer): LongWork<Sizes> {
  const boxes = new Float64Array(graph.order.length * 2);
  yield* eachOf(graph.order, (id, i) => {
    const box = graph.boxes[id];
    if (box) boxes.set(boxSize(box, text), i * 2);
  });
  const labels = new Float64Array(graph.edges.length * 2);
  yield* eachOf(graph.edges, (edge, i) => {
    if (edge.isStub || edge.label === "") return;
    labels.set([Math.ceil(text(edge.label, LABEL_FONT)) + 2, LABEL_HEIGHT], i * 2);
  });
  return { boxes, labels };
}

function boxSize(box: Box, text: TextMeasurer): [number, number] {
  const isGroup = box.kind === "group";
  let width = text(box.title, TITLE_FONT) + 2 * SIDE_PAD + (isGroup ? HANDLE_WIDTH : 0);
  for (const row of box.rows) {
    width = Math.max(width, text(row.name, ROW_NAME_FONT) + text(` ${row.text}`, ROW_FONT) + 2 * SIDE_PAD);
  }
  const body = box.rows.length > 0 ? box.rows.length * ROW_HEIGHT + 2 * BODY_PAD : 0;
  return [Math.max(MIN_WIDTH, Math.ceil(width)), TITLE_HEIGHT + body + (isGroup ? BAR_HEIGHT : 0)];
}

let known: TextMeasurer | undefined;

/** The width of a text on a canvas of the page, in pixels. */
export function textWidth(text: string, font: string): number {
  known ??= canvasMeasurer();
  return known(text, font);
}

/** A measurer with a canvas of its own, which caches widths. */
function canvasMeasurer(): TextMeasurer {
  const context = document.createElement("canvas").getContext("2d");
  const known = new Map<string, number>();
  return (text, font) => {
    const key = `${font}\n${text}`;
    let width = known.get(key);
    if (width === undefined) {
      if (context) context.font = font;
      width = context?.measureText(text).width ?? text.length * 6;
      known.set(key, width);
    }
    return width;
  };
}
