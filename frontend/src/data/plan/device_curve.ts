// A curve of a device as a line in a picture, and which of its pieces hold what there is now, half of it and twice as much. Pure.

import type { DeviceCurve, DevicePiece } from "../protocol";

/** "now", "half" or "double" where a piece holds that; a memory without a limit counts as large as the plan needs (`held`). */
export function marksOf({ now }: Pick<DeviceCurve, "now">, held: number, piece: DevicePiece): string[] {
  const size = now ?? held;
  const marks: [string, number][] = [["half", size / 2], ["now", size], ["double", size * 2]];
  return marks.filter(([, value]) => piece.first <= value && value <= piece.last).map(([name]) => name);
}

/** The points of the lines, one where no size was left out: from 0 to `width` and from `height` (no time) to 0; links by the logarithm of their speed. */
export function pointsOf({ pieces, quantity }: Pick<DeviceCurve, "pieces" | "quantity">, width: number, height: number): [number, number][][] {
  const scale = quantity === "link" ? Math.log : (value: number): number => value;
  const [first, last] = [scale(pieces[0]?.first ?? 0), scale(pieces[pieces.length - 1]?.last ?? 1)];
  const most = Math.max(...pieces.map((piece) => piece.first_s), 0) || 1;
  const at = (value: number, seconds: number): [number, number] => [last > first ? (width * (scale(value) - first)) / (last - first) : 0, height * (1 - seconds / most)];
  const lines: [number, number][][] = [];
  for (const [index, piece] of pieces.entries()) {
    const ends = [at(piece.first, piece.first_s), at(piece.last, piece.last_s)];
    const before = pieces[index - 1];
    // Bytes are whole: the next piece begins at one more.
    if (before && piece.first <= before.last + 1) lines[lines.length - 1]?.push(...ends);
    else lines.push(ends);
  }
  return lines;
}
