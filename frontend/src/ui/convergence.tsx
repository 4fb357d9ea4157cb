// A small chart: the best total falls, the bound rises, as far as the page has seen.

import type { JSX } from "preact";
import { duration } from "../format";
import type { Progress } from "../state/run";

const WIDTH = 300;
const HEIGHT = 96;
const LEFT = 58;
const LOW = 16;

export function Convergence({ history }: { history: readonly Progress[] }): JSX.Element | null {
  const values = history.flatMap((one) => [one.bestS, one.boundS]).filter((value): value is number => value !== null && value > 0);
  const [top, bottom] = [Math.max(...values), Math.min(...values)];
  const start = history[0]?.seconds ?? 0;
  const end = history[history.length - 1]?.seconds ?? 0;
  if (values.length === 0 || end <= start) return null;
  const x = (seconds: number): number => LEFT + ((seconds - start) / (end - start)) * (WIDTH - LEFT - 4);
  const y = (value: number): number => 6 + (top > bottom ? (top - value) / (top - bottom) : 0.5) * (HEIGHT - LOW - 12);
  const line = (of: (one: Progress) => number | null): string => steps(history.flatMap((one) => point(one, of(one), x, y)));
  return (
    <svg class="convergence" width={WIDTH} height={HEIGHT} role="img" aria-label={`Best total ${duration(top)} at first; no plan is below ${duration(bottom)}`}>
      <text x={LEFT - 6} y={y(top) + 4} text-anchor="end">
        {duration(top)}
      </text>
      {top > bottom && (
        <text x={LEFT - 6} y={y(bottom) + 4} text-anchor="end">
          {duration(bottom)}
        </text>
      )}
      <path class="bound" d={line((one) => one.boundS)} />
      <path class="best-line" d={line((one) => one.bestS)} />
      <text x={LEFT} y={HEIGHT - 2}>
        {clock(start)}
      </text>
      <text x={WIDTH - 4} y={HEIGHT - 2} text-anchor="end">
        {clock(end)}
      </text>
    </svg>
  );
}

function clock(seconds: number): string {
  return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
}

function point(one: Progress, value: number | null, x: (seconds: number) => number, y: (value: number) => number): [number, number][] {
  return value === null || value <= 0 ? [] : [[x(one.seconds), y(value)]];
}

/** A path that holds each value until the next one. */
function steps(points: readonly [number, number][]): string {
  return points.map(([x, y], i) => (i === 0 ? `M${x.toFixed(1)},${y.toFixed(1)}` : `H${x.toFixed(1)}V${y.toFixed(1)}`)).join("");
}
