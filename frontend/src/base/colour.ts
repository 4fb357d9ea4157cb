// Colours as CSS writes them, mixed. Pure.

/** `share` of one colour over another, as `rgb()`. Both as `#rgb`, `#rrggbb` or `rgb(r,g,b)`. */
export function mix(over: string, under: string, share: number): string {
  const [a, b] = [channels(over), channels(under)];
  return `rgb(${a.map((value, i) => Math.round(value * share + (b[i] ?? 0) * (1 - share))).join(",")})`;
}

/** Red, green and blue, 0 to 255, of a colour as `#rgb`, `#rrggbb` or `rgb(r,g,b)`. */
export function channels(colour: string): number[] {
  if (/^#[\da-f]{3}$/i.test(colour)) return [1, 2, 3].map((at) => 17 * parseInt(colour.charAt(at), 16));
  if (colour.startsWith("#")) return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return (colour.match(/\d+/g) ?? ["0", "0", "0"]).slice(0, 3).map(Number);
}

/** The relative luminance of a colour, 0 to 1, as WCAG defines it. */
export function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = channels(colour).map((value) => (value <= 10.31 ? value / 3294.6 : ((value / 255 + 0.055) / 1.055) ** 2.4));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

/** Black or white, whichever has more contrast on a colour. */
export function textOn(colour: string): string {
  return luminance(colour) > 0.179 ? "#000000" : "#ffffff";
}
