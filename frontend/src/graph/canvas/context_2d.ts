// The subset of a 2D context that the graph is drawn with, so that the same code draws pixels and SVG; and outlines that are cached
// between frames and can be written as SVG as well.

export type Context2d = Pick<
  CanvasRenderingContext2D,
  | "fillStyle" | "strokeStyle" | "lineWidth" | "lineJoin" | "lineCap" | "globalAlpha" | "font" | "textAlign" | "textBaseline"
  | "setTransform" | "setLineDash" | "beginPath" | "moveTo" | "lineTo" | "bezierCurveTo" | "closePath" | "roundRect" | "fillRect"
  | "save" | "restore" | "clip" | "fill" | "stroke" | "fillText" | "measureText" | "createPattern"
>;

/** The subset of a path that the course of an edge is drawn with. */
export type PathContext = Pick<Context2d, "moveTo" | "lineTo" | "bezierCurveTo">;

/** Records a path as the `d` of an SVG path. */
export class SvgPath {
  d = "";

  moveTo(x: number, y: number): void {
    this.d += `M${shortNumber(x)} ${shortNumber(y)}`;
  }

  lineTo(x: number, y: number): void {
    this.d += `${this.d === "" ? "M" : "L"}${shortNumber(x)} ${shortNumber(y)}`;
  }

  bezierCurveTo(...values: [number, number, number, number, number, number]): void {
    this.d += `C${values.map(shortNumber).join(" ")}`;
  }

  closePath(): void {
    this.d += "Z";
  }

  roundRect(x: number, y: number, width: number, height: number, radii: number | number[]): void {
    const all = typeof radii === "number" ? [radii, radii, radii, radii] : radii;
    const most = Math.min(width, height) / 2;
    const [a, b, c, d] = [0, 1, 2, 3].map((at) => Math.max(0, Math.min(most, all[at] ?? 0))) as [number, number, number, number];
    const arc = (r: number, dx: number, dy: number): string => (r > 0 ? `a${shortNumber(r)} ${shortNumber(r)} 0 0 1 ${shortNumber(dx)} ${shortNumber(dy)}` : "");
    this.d +=
      `M${shortNumber(x + a)} ${shortNumber(y)}h${shortNumber(width - a - b)}${arc(b, b, b)}v${shortNumber(height - b - c)}${arc(c, -c, c)}` +
      `h${shortNumber(-(width - c - d))}${arc(d, -d, -d)}v${shortNumber(-(height - d - a))}${arc(a, a, -a)}Z`;
  }
}

/** A number with two decimals at most. */
export function shortNumber(value: number): string {
  return String(Math.round(value * 100) / 100);
}

type Draw = (path: PathContext & Pick<Context2d, "roundRect">) => void;

const drawn = new WeakMap<Path2D, Draw>();

/** An outline to be cached; `draw` draws its course. */
export function outlinePath(draw: Draw): Path2D {
  const path = new Path2D();
  draw(path);
  drawn.set(path, draw);
  return path;
}

/** The `d` of such an outline. */
export function svgOf(path: Path2D): string {
  const text = new SvgPath();
  drawn.get(path)?.(text);
  return text.d;
}
