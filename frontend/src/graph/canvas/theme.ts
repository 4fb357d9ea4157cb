// The colours of the canvas, read from the page's style sheet, which is the one source of both.

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

/** Read the present colours. */
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
