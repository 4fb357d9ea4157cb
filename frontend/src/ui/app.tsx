// The page: the bar, then the samples or the open model with its strip, graph, panel and drawer.

import type { JSX } from "preact";
import { model, modelState } from "../state/model/model";
import { Drawer } from "./drawer/drawer";
import { GraphView } from "./graph/graph_view";
import { Strip } from "./graph/strip";
import { Help } from "./help";
import { Panel } from "./panel/panel";
import { TopBar } from "./top/top_bar";
import { DropZone } from "./welcome/drop_zone";
import { Welcome } from "./welcome/welcome";

export function App(): JSX.Element {
  const isOpen = model.value !== null;
  return (
    <div class={isOpen ? "page open" : "page"} data-state={modelState.value.kind}>
      <TopBar />
      {isOpen ? (
        <>
          <Strip />
          <GraphView />
          <Panel />
          <Drawer />
        </>
      ) : (
        <Welcome />
      )}
      <Help />
      <DropZone />
    </div>
  );
}
