// The graph with what lies over it: overlays and legend, find, zoom buttons; the canvas and the near elements are the controller's.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { duration } from "../format";
import { startGraph } from "../graph/controller";
import { model } from "../state/model";
import { hottest, theme } from "../state/painting";
import { run } from "../state/run";
import { OVERLAYS, overlay, type Overlay } from "../state/selection";
import { fit, zoomStep } from "../state/view";
import { heat } from "../targets";
import { FindBox } from "./find_box";

const OVERLAY_NAME: Record<Overlay, string> = { target: "Target", cost: "Cost" };

export function GraphView(): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  useEffect(() => (host.current && canvas.current && svg.current ? startGraph(host.current, canvas.current, svg.current) : undefined), []);
  return (
    <main class="graph">
      <div class="stage" id="stage" ref={host} role="group" aria-label={`Graph of ${model.value?.info.name ?? ""}`}>
        <canvas ref={canvas} aria-hidden="true" />
        <svg ref={svg} />
      </div>
      <div class="over top-left">
        <Overlays />
      </div>
      <div class="over top-right">
        <FindBox />
      </div>
      <div class="over bottom-left">
        <Legend />
      </div>
      <div class="over bottom-right">
        <ZoomButtons />
      </div>
    </main>
  );
}

function Overlays(): JSX.Element {
  return (
    <div class="segments" role="radiogroup" aria-label="Overlay">
      {OVERLAYS.map((one) => (
        <button key={one} type="button" role="radio" aria-checked={overlay.value === one} onClick={() => (overlay.value = one)}>
          {OVERLAY_NAME[one]}
        </button>
      ))}
    </div>
  );
}

/** The ramp of the cost overlay, with its ends in words. */
function Legend(): JSX.Element | null {
  if (overlay.value !== "cost" || !run.value?.plan) return null;
  const { costS, share } = hottest.value;
  const isDark = theme.value?.isDark ?? false;
  const stops = [0, 0.1, 0.25, 0.5, 0.75, 1].map((t) => `${heat(t, isDark)} ${t * 100}%`);
  return (
    <div class="legend" role="img" aria-label={`Cost of a partition, from nothing to ${duration(costS)}`}>
      <span>0</span>
      <span class="ramp" style={{ background: `linear-gradient(to right, ${stops.join(", ")})` }} />
      <span>
        {duration(costS)} <span class="muted">{`${Math.round(share * 100)} % of the total`}</span>
      </span>
    </div>
  );
}

function ZoomButtons(): JSX.Element {
  return (
    <div class="segments vertical" role="group" aria-label="Zoom">
      <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoomStep(1)}>
        +
      </button>
      <button type="button" aria-label="Zoom out" title="Zoom out (−)" onClick={() => zoomStep(-1)}>
        −
      </button>
      <button type="button" aria-label="Fit" title="Fit the whole model; again for its width (f)" onClick={fit}>
        ⤢
      </button>
    </div>
  );
}
