// The choice between the model as it is planned and as in its file; in the latter the path to the graph that is shown.

import type { JSX } from "preact";
import { showFile, showPlanned } from "../../state/model/file_view";
import { model } from "../../state/model/model";
import { askSizes } from "../../state/run/start";
import { Choice } from "../widgets/choice";

export function FileBar(): JSX.Element | null {
  const opened = model.value;
  if (!opened?.info.is_onnx || opened.info.is_missing) return null;
  const path = opened.file?.path ?? [];
  return (
    <div class="file-bar">
      {opened.info.refusal && !opened.info.refusal.inputs?.length ? (
        <span class="muted" title={opened.info.refusal.error.message}>
          as in the file
        </span>
      ) : (
        <Choice
          label="View of the model"
          choices={[
            { id: "planned", content: "As planned", title: "Constants folded, with the sizes and values of a run" },
            { id: "file", content: "As in the file", title: "Every node as the file has it, with symbols for open sizes" },
          ]}
          chosen={opened.file ? "file" : "planned"}
          choose={(id) => (id === "file" ? void showFile() : askSizes(false) || showPlanned())}
        />
      )}
      {path.length > 1 && (
        <nav aria-label="Graphs around this one">
          {path.map(({ scope, title }, i) =>
            i + 1 < path.length ? (
              <span key={scope}>
                <button type="button" class="link" title="Back to this graph (Backspace)" onClick={() => void showFile(scope)}>
                  {title}
                </button>{" "}
                <span aria-hidden="true">›</span>{" "}
              </span>
            ) : (
              <b key={scope} aria-current="page">
                {title}
              </b>
            ),
          )}
        </nav>
      )}
    </div>
  );
}
