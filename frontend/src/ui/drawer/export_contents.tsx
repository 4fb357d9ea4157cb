// The contents of an export: its files, the commands that use them, and the files in formats of others, each saved by itself.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { api } from "../../data/api";
import type { ExportInfo, RunSnapshot, Shipped } from "../../data/protocol";
import { hasEnded } from "../../data/run/reducer";
import { saveExport } from "../../state/run/exports";
import { CopyButton } from "../widgets/copy_button";

/** The files of an export, and the commands for them. */
export function ExportContents({ run: current }: { run: RunSnapshot }): JSX.Element | null {
  const shown = useSignal<ExportInfo | null>(null);
  const isReady = hasEnded(current) && current.plan !== null;
  useEffect(() => {
    shown.value = null;
    if (!isReady) return undefined;
    let isWanted = true;
    void api.exportContents(current.id).then(
      (found) => {
        if (isWanted) shown.value = found;
      },
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [current.id, current.artifact, isReady]);
  if (!shown.value) return null;
  return (
    <section class="shipping" aria-label="Contents of the export">
      <p class="muted">Export gives</p>
      <dl>
        {shown.value.files.map(({ name, says }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd class="muted">{says}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">and it is used by</p>
      {shown.value.commands.map((command) => (
        <Command key={command.name} command={command} />
      ))}
      <p class="muted">In other formats</p>
      <dl>
        {shown.value.exports.map(({ name, says }) => (
          <div key={name}>
            <dt>
              <button type="button" onClick={() => void saveExport(current, name)}>
                {name}
              </button>
            </dt>
            <dd class="muted">{says}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

function Command({ command }: { command: Shipped }): JSX.Element {
  return (
    <p>
      <code>{command.name}</code>
      <CopyButton text={command.name} label={`Copy the command: ${command.says}`} />
      <span class="muted">{command.says}</span>
    </p>
  );
}
