// The graph with the controls above it (overlays, find box) and below it (legend, grouping, zoom buttons): none covers any of the graph.
// The controller draws the graph into its elements.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { isReport } from "../../data/config";
import { hasEnded } from "../../data/run/ended";
import { band, bandRect } from "../../state/graph/band";
import { takePicture } from "../../state/graph/pictures";
import { fit, zoomStep } from "../../state/graph/view";
import { isWrapped, toggleColumns } from "../../state/model/folding";
import { model } from "../../state/model/model";
import { saveReport } from "../../state/run/report";
import { run, whatIf } from "../../state/run/run";
import { MenuHost } from "../menu/host";
import { SaveMenu, type Format } from "../widgets/save_menu";
import { startGraph } from "./controller";
import { FileBar } from "./file_bar";
import { FindBox } from "./find_box";
import { GroupMenu } from "./group_menu";
import { Leaderboard } from "./leaderboard";
import { Legend } from "./legend";
import { Marks } from "./marks";
import { NodeTip } from "./node_tip";
import { Notices } from "./notices";
import { OverlayMenu } from "./overlay_menu";
import { Verdict } from "./verdict";

/**
 * @param takesFocus whether the graph gets the focus if nothing has it when the graph appears: what a person chose the model with is gone
 *   then. A page that nobody has used yet begins at its top.
 */
export function GraphView({ takesFocus }: { takesFocus: boolean }): JSX.Element {
  const host = useRef<HTMLDivElement>(null);
  const canvas = useRef<HTMLCanvasElement>(null);
  const svg = useRef<SVGSVGElement>(null);
  useEffect(() => {
    if (!host.current || !canvas.current || !svg.current) return undefined;
    if (takesFocus && document.activeElement === document.body) host.current.focus();
    return startGraph(host.current, canvas.current, svg.current);
  }, []);
  return (
    <main class="graph">
      <div class="stage" id="stage" ref={host} tabIndex={-1} role="group" aria-label={`Graph of ${model.value?.info.name ?? ""}`}>
        <canvas ref={canvas} aria-hidden="true" />
        <svg ref={svg} />
        <Band />
        <NodeTip />
      </div>
      <div class="graph-head">
        <Verdict />
        <Leaderboard />
        <OverlayMenu />
        <FileBar />
        <FindBox />
        <Notices />
      </div>
      <div class="graph-foot">
        <GroupMenu />
        <Legend />
        <span class="bottom-right">
          <Marks />
          <SaveMenu what="the graph" formats={formats()} />
          <ZoomButtons />
        </span>
      </div>
      <MenuHost />
    </main>
  );
}

/** The rubber band. */
function Band(): JSX.Element | null {
  if (!band.value) return null;
  const { x, y, width, height } = bandRect(...band.value);
  return <span class="band" style={{ left: `${x}px`, top: `${y}px`, width: `${width}px`, height: `${height}px` }} />;
}

const PICTURES: readonly Format[] = [
  { name: "SVG", says: "all of it, to scale and to edit", save: () => void takePicture("svg") },
  { name: "PNG", says: "all of it, to paste anywhere", save: () => void takePicture("png") },
  ...(isReport ? [] : [{ name: "DOT", says: "for Graphviz", save: () => void takePicture("dot") } as const]), // the server makes it
];
const REPORT: Format = { name: "HTML", says: "a report: all of this run in one file to send", save: () => void saveReport() };

/** The formats of the graph; and the report, of a run that is over and shown with its own plan. */
function formats(): readonly Format[] {
  const current = run.value;
  const hasReport = !isReport && current !== null && current.plan !== null && hasEnded(current) && whatIf.value === null;
  return hasReport ? [...PICTURES, REPORT] : PICTURES;
}

function ZoomButtons(): JSX.Element {
  return (
    <div class="segments" role="group" aria-label="View">
      <button type="button" aria-label="Zoom in" title="Zoom in (+)" onClick={() => zoomStep(1)}>
        +
      </button>
      <button type="button" aria-label="Zoom out" title="Zoom out (−)" onClick={() => zoomStep(-1)}>
        −
      </button>
      <button type="button" aria-label="Fit" title="Fit the whole model; again for its width (f)" onClick={fit}>
        ⤢
      </button>
      <button type="button" aria-label="Columns" aria-pressed={isWrapped.value} title="Columns: an overview of a long model, or straight down (m)" onClick={() => void toggleColumns()}>
        ▥
      </button>
    </div>
  );
}
