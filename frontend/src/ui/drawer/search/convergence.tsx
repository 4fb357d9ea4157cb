// A small chart of the best total, which falls, and the bound, which rises; an estimated bound is dotted.

import type { JSX } from "preact";
import { duration, elapsed } from "../../../base/format";
import { timeText } from "../../../data/plan/basis";
import type { ConvergencePoint } from "../../../data/protocol";

const WIDTH = 300;
const HEIGHT = 96;
const LEFT = 58;
const LOW = 16;

type Value = (point: ConvergencePoint) => number | null;

const BEST: Value = (point) => point.best_s;
const BOUND: Value = (point) => point.bound_s;
const ESTIMATE: Value = (point) => point.estimate_s;

export function Convergence({ curve, nowS }: { curve: readonly ConvergencePoint[]; nowS: number }): JSX.Element | null {
  const [start, end] = [curve[0]?.seconds ?? 0, Math.max(nowS, curve.at(-1)?.seconds ?? 0)];
  const shown = curve.flatMap((point) => [point.best_s, point.estimate_s]).concat(curve.at(-1)?.bound_s ?? null);
  const values = shown.filter((value): value is number => value !== null && value > 0);
  const [top, bottom] = [Math.max(...values), Math.min(...values)];
  if (values.length === 0 || end <= start) return null;
  const x = (seconds: number): number => LEFT + ((seconds - start) / (end - start)) * (WIDTH - LEFT - 4);
  const y = (value: number): number => Math.min(HEIGHT - LOW, 6 + (top > bottom ? (top - value) / (top - bottom) : 0.5) * (HEIGHT - LOW - 12));
  const line = (of: Value): string => pathOf(curve, of, end, x, y);
  const best = curve.at(-1)?.best_s ?? null;
  const label = `${best === null ? "No plan yet" : `Best total, ${timeText("predicted", best)},`} after ${elapsed(end)}; the bound is at ${duration(bottom)}`;
  return (
    <svg class="convergence" width={WIDTH} height={HEIGHT} role="img" aria-label={label}>
      <title>line: best total so far, predicted; dashed: lower bound; dotted: estimated bound</title>
      <text x={LEFT - 6} y={y(top) + 4} text-anchor="end">
        {duration(top)}
      </text>
      {top > bottom && (
        <text x={LEFT - 6} y={y(bottom) + 4} text-anchor="end">
          {duration(bottom)}
        </text>
      )}
      <path class="estimate" d={line(ESTIMATE)} />
      <path class="bound" d={line(BOUND)} />
      <path class="best-line" d={line(BEST)} />
      <text x={LEFT} y={HEIGHT - 2}>
        {elapsed(start)}
      </text>
      <text x={WIDTH - 4} y={HEIGHT - 2} text-anchor="end">
        {elapsed(end)}
      </text>
    </svg>
  );
}

/** A path that holds each value until the next point, and the last one to the end, with gaps where there is no value. */
function pathOf(curve: readonly ConvergencePoint[], of: Value, endS: number, x: (seconds: number) => number, y: (value: number) => number): string {
  return curve
    .map((point, i) => {
      const value = of(point);
      if (value === null || value <= 0) return "";
      const [from, to, level] = [x(point.seconds).toFixed(1), x(curve[i + 1]?.seconds ?? endS).toFixed(1), y(value).toFixed(1)];
      const before = i > 0 ? of(curve[i - 1] as ConvergencePoint) : null;
      return `${before !== null && before > 0 ? `L${from},${level}` : `M${from},${level}`}H${to}`;
    })
    .join("");
}
