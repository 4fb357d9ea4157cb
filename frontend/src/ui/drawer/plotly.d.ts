// The types of Plotly's basic bundle, as far as the page uses it; the bundle has none.

declare module "plotly.js-basic-dist-min" {
  interface Plotly {
    react: (host: HTMLElement, traces: readonly object[], layout: object, config: object) => Promise<HTMLElement>;
    purge: (host: HTMLElement) => void;
    toImage: (host: HTMLElement, options: { format: "svg" | "png"; width: number; height: number; scale: number }) => Promise<string>;
    Plots: { resize: (host: HTMLElement) => Promise<void> };
  }
  const plotly: Plotly;
  export default plotly;
}
