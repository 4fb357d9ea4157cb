// The name of the open model, and the menu to open another one: a sample, a model that was opened before, or files.

import type { JSX } from "preact";
import { bytes, plural } from "../../base/format";
import { isReport } from "../../data/config";
import { fixedSizes } from "../../data/model/shapes";
import { shapeOf } from "../../data/model/tensors";
import { showDrawer } from "../../state/display";
import { models, samples } from "../../state/model/catalogue";
import { model } from "../../state/model/model";
import { openSource } from "../../state/model/open";
import { saveSession } from "../../state/run/session";
import { FilePicker } from "../welcome/drop_zone";
import { Popover } from "../widgets/popover";

export function ModelMenu(): JSX.Element | null {
  const info = model.value?.info;
  if (!info) return null;
  const fixed = fixedSizes(info);
  const content = (
    <>
      <b>{info.name}</b> <span aria-hidden="true">▾</span> <span class="muted">{[info.region, plural(info.nodes, "node")].filter(Boolean).join(" · ")}</span>
      {info.stale && <span class="warn">{info.is_missing ? "no file" : "file changed"}</span>}
    </>
  );
  return (
    <Popover content={content} label="Models" class="plain model">
      {(close) => (
        <div class="model-menu">
          <p class="facts">
            {info.inputs.map((tensor) => `${tensor.name} ${shapeOf(tensor)}`).join(", ")} → {info.outputs.map((tensor) => `${tensor.name} ${shapeOf(tensor)}`).join(", ")}
            <br />
            {bytes(info.size_bytes)}
            {info.folded > 0 && ` · ${plural(info.folded, "node")} folded away`}
            {info.quantised && " · quantised"}
            {fixed.length > 0 && (
              <>
                <br />
                {`${fixed.join(", ")}: fixed here, dynamic in the file`}
              </>
            )}
          </p>
          {!isReport && <Doors close={close} />}
        </div>
      )}
    </Popover>
  );
}

/** The ways to another view of the model, and to another model. */
function Doors({ close }: { close: () => void }): JSX.Element | null {
  const info = model.value?.info;
  if (!info) return null;
  return (
    <>
      <button type="button" onClick={() => (close(), showDrawer("netron"))}>
        Show in Netron
      </button>
      <button type="button" title="The model, its runs and their notes in one file; a colleague opens it with collage explore" onClick={() => (close(), void saveSession())}>
        Save session…
      </button>
      {info.region && (
        <button type="button" onClick={() => (close(), void openSource({ kind: "again", id: info.id, region: "" }))}>
          Another region of the module
        </button>
      )}
      {info.stale && <p class="warn">{info.is_missing ? "It came without its file: to run it, open the file with that hash." : "The file has changed since; open it again."}</p>}
      <Opened close={close} />
      <h2>Samples</h2>
      <ul>
        {samples.value.map((sample) => (
          <li key={sample.name}>
            <button type="button" class="row" aria-current={sample.name === info.sample} onClick={() => (close(), void openSource({ kind: "sample", name: sample.name }))}>
              {sample.title}
              {sample.recorded !== null && <span class="tag">recorded run</span>}
            </button>
          </li>
        ))}
      </ul>
      <FilePicker />
    </>
  );
}

/** The user's own models that were opened before. */
function Opened({ close }: { close: () => void }): JSX.Element | null {
  const own = models.value.filter((one) => one.sample === null);
  if (own.length === 0) return null;
  return (
    <>
      <h2>Opened before</h2>
      <ul>
        {own.slice(0, 12).map((one) => (
          <li key={one.id}>
            <button type="button" class="row" aria-current={one.id === model.value?.info.id} onClick={() => (close(), void openSource({ kind: "id", id: one.id }))}>
              {one.name} <span class="muted">{[one.region, plural(one.nodes, "node")].filter(Boolean).join(" · ")}</span>
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}
