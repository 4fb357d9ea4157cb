// Level of detail: how much of each thing is drawn at a scale. Everything fades over a range, so that no step is seen.

export interface Detail {
  /** 0 to 1: text in the headers, rows in the bodies, labels on the edges. */
  titles: number;
  rows: number;
  edgeLabels: number;
  edges: number;
  boxes: number;
  /** How solid a partition's hull is: a tint from near, one box of its colour from afar. */
  hull: number;
}

/** The detail at scale `k`. */
export function detailAt(k: number): Detail {
  return {
    titles: ramp(k, 0.26, 0.38),
    rows: ramp(k, 0.38, 0.5),
    edgeLabels: ramp(k, 0.42, 0.55),
    edges: ramp(k, 0.025, 0.07),
    boxes: ramp(k, 0.03, 0.09),
    hull: 1 - ramp(k, 0.07, 0.24),
  };
}

/** Most boxes for which real elements are put into the page. */
export const MOST_ELEMENTS = 600;
const ELEMENT_SCALE = 0.26;

/** Whether the boxes in view become real elements. */
export function showsElements(k: number, visibleBoxes: number): boolean {
  return k >= ELEMENT_SCALE && visibleBoxes <= MOST_ELEMENTS;
}

/** 0 up to `from`, 1 from `to` on, smooth between them. */
export function ramp(value: number, from: number, to: number): number {
  const t = Math.max(0, Math.min(1, (value - from) / (to - from)));
  return t * t * (3 - 2 * t);
}
