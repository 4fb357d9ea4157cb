// The page: the bar, then the samples or the open model with its strip, graph, panel and drawer.

import type { JSX } from "preact";
import { model, modelState } from "../state/model";
import { Drawer } from "./drawer";
import { DropZone } from "./drop_zone";
import { GraphView } from "./graph_view";
import { Help } from "./help";
import { Panel } from "./panel";
import { Strip } from "./strip";
import { TopBar } from "./top_bar";
import { Welcome } from "./welcome";

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
