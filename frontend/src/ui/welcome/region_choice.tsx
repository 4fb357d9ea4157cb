// Asks which region of a Relax module to open, where it has several: a button for each, the largest first.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import type { Shapes } from "../../data/api";
import { regionText } from "../../data/model/regions";
import type { RegionChoice as Region } from "../../data/protocol";
import type { Source } from "../../state/model/model";
import { closeModel, openSource } from "../../state/model/open";
import { forgetOpening } from "../../state/model/typed_shapes";

export function RegionChoice({ source, shapes, regions }: { source: Source; shapes: Shapes; regions: readonly Region[] }): JSX.Element {
  const list = useRef<HTMLUListElement>(null);
  // The field or button with which the module was opened is gone, and with it the place of who uses the keyboard.
  useEffect(() => list.current?.querySelector("button")?.focus(), [source]);
  const close = (): void => {
    forgetOpening(source);
    closeModel();
  };
  return (
    <section class="note" aria-label="Regions of the module">
      <p>The module has {regions.length} regions: parts of its functions that are partitioned, each by itself. Which one do you want to open?</p>
      <ul ref={list} class="choices">
        {regions.map((region) => (
          <li key={region.name}>
            <button type="button" class="link" onClick={() => void openSource(withRegion(source, region.name), shapes)}>
              {region.name}
            </button>{" "}
            <span class="muted">{regionText(region)}</span>
          </li>
        ))}
      </ul>
      <button type="button" onClick={close}>
        Dismiss
      </button>
    </section>
  );
}

function withRegion(source: Source, region: string): Source {
  return source.kind === "files" || source.kind === "path" || source.kind === "again" ? { ...source, region } : source;
}
