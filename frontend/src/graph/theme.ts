// The colours with which the canvas draws: read from the page's style, so that both follow one source.

export interface Theme {
  isDark: boolean;
  background: string;
  nodeBody: string;
  nodeBorder: string;
  ioHeader: string;
  ioText: string;
  text: string;
  muted: string;
  line: string;
  edge: string;
  accent: string;
  select: string;
  hit: string;
}

const dark = typeof matchMedia === "undefined" ? undefined : matchMedia("(prefers-color-scheme: dark)");

/** The colours as they are now. */
export function readTheme(): Theme {
  const style = getComputedStyle(document.documentElement);
  const value = (name: string): string => style.getPropertyValue(`--${name}`).trim();
  return {
    isDark: dark?.matches ?? false,
    background: value("canvas"),
    nodeBody: value("node-body"),
    nodeBorder: value("node-border"),
    ioHeader: value("io-header"),
    ioText: value("io-text"),
    text: value("text"),
    muted: value("muted"),
    line: value("line"),
    edge: value("edge"),
    accent: value("accent"),
    select: value("select"),
    hit: value("hit"),
  };
}

/** Call `changed` whenever the system's colour scheme changes. */
export function watchTheme(changed: () => void): () => void {
  dark?.addEventListener("change", changed);
  return () => dark?.removeEventListener("change", changed);
}

/** `share` of one colour over another, as `rgb()`. Both as `#rgb`, `#rrggbb` or `rgb(r,g,b)`. */
export function mix(over: string, under: string, share: number): string {
  const [a, b] = [channels(over), channels(under)];
  return `rgb(${a.map((value, i) => Math.round(value * share + (b[i] ?? 0) * (1 - share))).join(",")})`;
}

function channels(colour: string): number[] {
  if (/^#[\da-f]{3}$/i.test(colour)) return [1, 2, 3].map((at) => 17 * parseInt(colour.charAt(at), 16));
  if (colour.startsWith("#")) return [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
  return (colour.match(/\d+/g) ?? ["0", "0", "0"]).slice(0, 3).map(Number);
}
