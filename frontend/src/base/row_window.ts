// The rows of a long table that are drawn: those in view and a few around them. Empty space above and below stands for the rest. Pure.

export interface Window {
  first: number;
  /** One past the last. */
  end: number;
  /** The empty space above and below, in pixels. */
  above: number;
  below: number;
}

const SPARE = 6;

/** The rows to draw of `count`, each `rowPx` high, in a view of `viewPx` that is scrolled down by `topPx`. */
export function windowOf(count: number, rowPx: number, topPx: number, viewPx: number): Window {
  const inView = Math.ceil(viewPx / rowPx) + 1;
  const last = Math.max(0, count - inView);
  const start = Math.min(last, Math.max(0, Math.floor(topPx / rowPx)));
  const first = Math.max(0, start - SPARE);
  const end = Math.min(count, start + inView + SPARE);
  return { first, end, above: first * rowPx, below: (count - end) * rowPx };
}

/** The scroll position nearest to `topPx` at which row `index` is wholly in view. */
export function scrolledTo(index: number, rowPx: number, topPx: number, viewPx: number): number {
  const top = index * rowPx;
  if (top < topPx) return top;
  return top + rowPx > topPx + viewPx ? top + rowPx - viewPx : topPx;
}
