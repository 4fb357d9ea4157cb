// The page: the bar, then the samples or the open model with its strip, graph, panel and drawer.

import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { isReport } from "../data/config";
import { model, modelState } from "../state/model/model";
import { Drawer } from "./drawer/drawer";
import { GraphView } from "./graph/graph_view";
import { Strip } from "./graph/strip";
import { Help } from "./help";
import { Panel } from "./panel/panel";
import { ExportDialog } from "./top/export_dialog";
import { SizesDialog } from "./top/sizes_dialog";
import { TopBar } from "./top/top_bar";
import { DropZone } from "./welcome/drop_zone";
import { ReportOpening } from "./welcome/report_opening";
import { Welcome } from "./welcome/welcome";

export function App(): JSX.Element {
  const isOpen = model.value !== null;
  const wasUsed = useRef(false);
  return (
    <div class={isOpen ? "page open" : "page"} data-state={modelState.value.kind} onFocusIn={() => (wasUsed.current = true)}>
      <TopBar />
      {isOpen ? (
        <>
          <Strip />
          <GraphView takesFocus={wasUsed.current} />
          <Panel />
          <Drawer />
        </>
      ) : (
        isReport ? <ReportOpening /> : <Welcome />
      )}
      <Help />
      {!isReport && <ExportDialog />}
      <SizesDialog />
      {!isReport && <DropZone />}
    </div>
  );
}
