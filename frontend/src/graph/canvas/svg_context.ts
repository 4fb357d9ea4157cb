// A drawing context that writes SVG: everything drawn with it becomes one self-contained document.

import { SvgPath, shortNumber, svgOf, type Context2d } from "./context_2d";

const HATCH = "hatch";

type Paints = "fillStyle" | "strokeStyle" | "lineWidth" | "lineJoin" | "lineCap" | "globalAlpha" | "textAlign" | "textBaseline" | "font";

/** The part of a real 2D context that measures texts and makes patterns. */
export type TextContext = Pick<Context2d, "font" | "measureText" | "createPattern">;

export class SvgContext implements Context2d {
  fillStyle: Context2d["fillStyle"] = "#000000";
  strokeStyle: Context2d["strokeStyle"] = "#000000";
  lineWidth = 1;
  lineJoin: CanvasLineJoin = "miter";
  lineCap: CanvasLineCap = "butt";
  globalAlpha = 1;
  textAlign: CanvasTextAlign = "left";
  textBaseline: CanvasTextBaseline = "alphabetic";
  private dash: number[] = [];
  private path = new SvgPath();
  private transform = "";
  private readonly parts: string[] = [];
  private readonly saved: { clips: number; paints: Pick<Context2d, Paints> }[] = [];
  private clips = 0;

  /** Every pattern becomes diagonal lines in the colour `hatch`. */
  constructor(
    private readonly ruler: TextContext,
    private readonly hatch: string,
  ) {}

  get font(): string {
    return this.ruler.font;
  }

  set font(font: string) {
    this.ruler.font = font;
  }

  setTransform(...values: unknown[]): void {
    const [a, , , d, e, f] = values as number[];
    const next = a === 1 && d === 1 && e === 0 && f === 0 ? "" : `matrix(${[a, 0, 0, d, e, f].map((value) => shortNumber(value ?? 0)).join(" ")})`;
    if (next === this.transform) return;
    if (this.transform !== "") this.parts.push("</g>");
    if (next !== "") this.parts.push(`<g transform="${next}">`);
    this.transform = next;
  }

  save(): void {
    const { fillStyle, strokeStyle, lineWidth, lineJoin, lineCap, globalAlpha, textAlign, textBaseline, font } = this;
    this.saved.push({ clips: 0, paints: { fillStyle, strokeStyle, lineWidth, lineJoin, lineCap, globalAlpha, textAlign, textBaseline, font } });
  }

  /** Clip what is drawn until the next `restore` to the path. The transform must not change meanwhile. */
  clip(): void {
    const now = this.saved[this.saved.length - 1];
    if (!now) throw new Error("a clip without an end");
    now.clips += 1;
    this.clips += 1;
    this.parts.push(`<clipPath id="clip${this.clips}"><path d="${this.path.d}"/></clipPath><g clip-path="url(#clip${this.clips})">`);
  }

  restore(): void {
    const before = this.saved.pop();
    if (!before) return;
    Object.assign(this, before.paints);
    this.parts.push("</g>".repeat(before.clips));
  }

  setLineDash(dash: number[]): void {
    this.dash = [...dash];
  }

  beginPath(): void {
    this.path = new SvgPath();
  }

  moveTo(x: number, y: number): void {
    this.path.moveTo(x, y);
  }

  lineTo(x: number, y: number): void {
    this.path.lineTo(x, y);
  }

  bezierCurveTo(...values: [number, number, number, number, number, number]): void {
    this.path.bezierCurveTo(...values);
  }

  closePath(): void {
    this.path.closePath();
  }

  roundRect(x: number, y: number, width: number, height: number, radii?: unknown): void {
    this.path.roundRect(x, y, width, height, radii as number | number[]);
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    this.parts.push(`<rect x="${shortNumber(x)}" y="${shortNumber(y)}" width="${shortNumber(width)}" height="${shortNumber(height)}"${this.fills()}/>`);
  }

  fill(path?: unknown): void {
    const d = path === undefined ? this.path.d : svgOf(path as Path2D);
    if (d !== "") this.parts.push(`<path d="${d}"${this.fills()}/>`);
  }

  stroke(path?: unknown): void {
    const d = path === undefined ? this.path.d : svgOf(path as Path2D);
    if (d === "") return;
    const round = `${this.lineJoin === "round" ? ' stroke-linejoin="round"' : ""}${this.lineCap === "round" ? ' stroke-linecap="round"' : ""}`;
    const dash = this.dash.length > 0 ? ` stroke-dasharray="${this.dash.map(shortNumber).join(" ")}"` : "";
    this.parts.push(`<path d="${d}" fill="none" stroke="${this.painted(this.strokeStyle)}" stroke-width="${shortNumber(this.lineWidth)}"${dash}${round}${this.opacity()}/>`);
  }

  fillText(text: string, x: number, y: number): void {
    const bold = this.font.startsWith("bold ") ? ' font-weight="bold"' : "";
    const size = /([\d.]+)px/.exec(this.font)?.[1] ?? "12";
    const anchor = this.textAlign === "center" ? ' text-anchor="middle"' : "";
    const down = this.textBaseline === "middle" ? 0.35 * Number(size) : 0;
    this.parts.push(`<text x="${shortNumber(x)}" y="${shortNumber(y + down)}" font-size="${size}"${bold}${anchor}${this.fills()} xml:space="preserve">${xmlText(text)}</text>`);
  }

  measureText(text: string): TextMetrics {
    return this.ruler.measureText(text);
  }

  createPattern(image: CanvasImageSource, repetition: string | null): CanvasPattern | null {
    return this.ruler.createPattern(image, repetition);
  }

  /** The document of this size with everything that was drawn. */
  document(width: number, height: number, title: string, family: string): string {
    this.setTransform(1, 0, 0, 1, 0, 0);
    const lines = `<path d="M-2 2L2 -2M0 8L8 0M6 10L10 6" stroke="${xmlText(this.hatch)}" stroke-width="1.2" stroke-opacity="0.3"/>`;
    const size = `width="${shortNumber(width)}" height="${shortNumber(height)}" viewBox="0 0 ${shortNumber(width)} ${shortNumber(height)}"`;
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" ${size} font-family="${xmlText(family)}" role="img">`,
      `<title>${xmlText(title)}</title>`,
      `<defs><pattern id="${HATCH}" width="8" height="8" patternUnits="userSpaceOnUse">${lines}</pattern></defs>`,
      ...this.parts,
      "</svg>\n",
    ].join("\n");
  }

  private fills(): string {
    return ` fill="${this.painted(this.fillStyle)}"${this.opacity()}`;
  }

  private painted(style: Context2d["fillStyle"]): string {
    return typeof style === "string" ? xmlText(style) : `url(#${HATCH})`;
  }

  private opacity(): string {
    return this.globalAlpha < 1 ? ` opacity="${shortNumber(this.globalAlpha)}"` : "";
  }
}

/** A text, escaped for XML; characters that XML cannot hold become replacement characters. */
export function xmlText(text: string): string {
  const escaped = text.replaceAll("&", "&amp;").replaceAll("<", "&lt;").replaceAll(">", "&gt;").replaceAll('"', "&quot;");
  return escaped.replace(/[\u0000-\u0008\u000b\u000c\u000e-\u001f\ufffe\uffff]|[\ud800-\udbff](?![\udc00-\udfff])|(?<![\ud800-\udbff])[\udc00-\udfff]/g, "\ufffd");
}
