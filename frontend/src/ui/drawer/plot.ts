// Draws a figure with Plotly in the page's colours, on the page or as a picture to save. Plotly is loaded with the first chart.

import type PlotlyBasic from "plotly.js-basic-dist-min";
import { during } from "../../base/idle";
import type { Axis, Figure } from "../../data/charts/figure";
import type { Theme } from "../../graph/canvas/theme";
import { FONT_FAMILY } from "../../graph/layout/measure";

type Plotly = typeof PlotlyBasic;

let loading: Promise<Plotly> | undefined;

function plotly(): Promise<Plotly> {
  loading ??= import("plotly.js-basic-dist-min").then((module) => module.default);
  return loading;
}

const CONFIG = { displayModeBar: false, responsive: false, doubleClick: "reset" };

interface PlotlyHost extends HTMLElement {
  on?: (event: "plotly_click", heard: (event: { points: { customdata?: string }[] }) => void) => void;
  removeAllListeners?: (event: "plotly_click") => void;
}

/** Draw a figure into an element that has its size. `picked` is called with the id of a clicked point. */
export async function draw(host: HTMLElement, figure: Figure, theme: Theme, picked?: (about: string) => void): Promise<void> {
  const chart = await during("chart", plotly());
  if (!host.isConnected) return;
  await during("chart", chart.react(host, figure.traces, layoutOf(figure, theme), CONFIG));
  const listened = host as PlotlyHost;
  listened.removeAllListeners?.("plotly_click");
  if (picked)
    listened.on?.("plotly_click", ({ points }) => {
      const about = points[0]?.customdata;
      if (about !== undefined) picked(about);
    });
}

/** Fit the chart to the size of its element. */
export async function resize(host: HTMLElement): Promise<void> {
  if (!loading || !host.isConnected || host.clientWidth === 0) return;
  await during("chart", plotly().then((chart) => (host.isConnected && host.clientWidth > 0 ? chart.Plots.resize(host) : undefined)));
}

export function clear(host: HTMLElement): void {
  void loading?.then((chart) => chart.purge(host));
}

const PICTURE = { width: 1000, height: 520 };

/** The figure as a picture in a `data:` address, of the same size whatever the size of the window is. */
export async function chartPicture(figure: Figure, theme: Theme, format: "svg" | "png"): Promise<string> {
  const host = document.createElement("div");
  host.className = "unseen";
  host.setAttribute("aria-hidden", "true");
  document.body.append(host);
  try {
    const chart = await plotly();
    await chart.react(host, figure.traces, { ...layoutOf(figure, theme), ...PICTURE, paper_bgcolor: theme.background }, { ...CONFIG, staticPlot: true });
    return await chart.toImage(host, { format, ...PICTURE, scale: 2 });
  } finally {
    clear(host);
    host.remove();
  }
}

function layoutOf({ axes, more }: Figure, theme: Theme): object {
  return {
    autosize: true,
    margin: { l: 56, r: 16, t: 8, b: 40 },
    paper_bgcolor: "rgba(0,0,0,0)",
    plot_bgcolor: "rgba(0,0,0,0)",
    font: { family: FONT_FAMILY, size: 12, color: theme.text },
    xaxis: axisOf(axes.x, theme),
    yaxis: axisOf(axes.y, theme),
    legend: { orientation: "v", x: 1.01, y: 1, font: { color: theme.text } },
    hoverlabel: { font: { family: FONT_FAMILY, size: 12 } },
    hovermode: "closest",
    showlegend: true,
    ...more,
  };
}

function axisOf({ title, ...own }: Axis, theme: Theme): object {
  const lines = { gridcolor: theme.line, zerolinecolor: theme.line, linecolor: theme.line };
  // An axis names its unit, so a tick in powers of ten, or in thousandths of that unit, would need a second reading.
  return { ...lines, tickfont: { color: theme.muted }, automargin: true, exponentformat: "none", title: { text: title.text, standoff: 6, font: { size: 12 } }, ...own };
}
