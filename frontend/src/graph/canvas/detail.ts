// Level of detail: what is drawn at a scale. Everything fades over a range of scales, so that nothing appears at once.

export interface Detail {
  /** Opacities from 0 to 1: text in the headers, rows in the bodies, labels on the edges, edges, boxes. */
  titles: number;
  rows: number;
  edgeLabels: number;
  edges: number;
  boxes: number;
  /** How solid a partition's hull is, from 0 (a tint, zoomed in) to 1 (one box of its colour, zoomed out). */
  hull: number;
}

/** The detail at scale `k`. */
export function detailAt(k: number): Detail {
  return {
    titles: ramp(k, 0.26, 0.38),
    rows: ramp(k, 0.38, 0.5),
    edgeLabels: ramp(k, 0.42, 0.55),
    edges: ramp(k, 0.025, 0.07),
    boxes: ramp(k, 0.012, 0.03),
    hull: 1 - ramp(k, 0.07, 0.24),
  };
}

/** The most boxes that get DOM elements. */
export const MOST_ELEMENTS = 600;
const ELEMENT_SCALE = 0.26;

/** True if the boxes in view get DOM elements. */
export function showsElements(k: number, visibleBoxes: number): boolean {
  return k >= ELEMENT_SCALE && visibleBoxes <= MOST_ELEMENTS;
}

/** A smooth step: 0 up to `from`, 1 from `to` on. */
export function ramp(value: number, from: number, to: number): number {
  const t = Math.max(0, Math.min(1, (value - from) / (to - from)));
  return t * t * (3 - 2 * t);
}
