// The contents of an export: the form of its artifact, its files, the commands that use them, and the files in formats of others, each saved by itself.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { api } from "../../data/api";
import { isReport } from "../../data/config";
import type { ExportInfo, RunSnapshot, Shipped } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { type AskedForm, chooseForm, chosenForm, exporting, exportRun, FORMS, formText } from "../../state/run/export";
import { beingMade, saveExport } from "../../state/run/exports";
import { isActive, whatIf } from "../../state/run/run";
import { CopyButton } from "../widgets/copy_button";

/** The files of an export, and the commands for them. */
export function ExportContents({ run: current }: { run: RunSnapshot }): JSX.Element | null {
  const told = useSignal<{ run: string; info: ExportInfo } | null>(null);
  const isReady = hasEnded(current) && current.plan !== null;
  useEffect(() => {
    if (!isReady) return undefined;
    let isWanted = true;
    void api.exportContents(current.id).then(
      (found) => {
        if (isWanted) told.value = { run: current.id, info: found };
      },
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [current.id, current.seq, isReady]); // an artifact that is built once more leaves only new events
  if (!isReady || told.value?.run !== current.id) return null;
  const shown = told.value.info;
  return (
    <section class="shipping" aria-label="Contents of the export">
      <FormChoice built={shown.form} whyNot={shown.why_not} />
      <p class="muted">Export gives</p>
      <dl>
        {shown.files.map(({ name, says }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd class="muted">{says}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">and it is used by</p>
      {shown.commands.map((command) => (
        <Command key={command.name} command={command} />
      ))}
      <p class="muted">In other formats</p>
      <dl>
        {shown.exports.map(({ name, says }) => (
          <div key={name}>
            <dt>
              <button type="button" aria-disabled={beingMade.value !== null} onClick={() => void saveExport(current, name)}>
                {name}
              </button>
            </dt>
            <dd class="muted">{beingMade.value === name ? "is being made …" : says}</dd>
          </div>
        ))}
      </dl>
    </section>
  );
}

/** The form of the artifact, with what each needs or why this plan cannot have it, and the button that builds it. */
function FormChoice({ built, whyNot }: { built: ExportInfo["form"]; whyNot: ExportInfo["why_not"] }): JSX.Element | null {
  if (isReport) return null;
  const form = chosenForm.value ?? built ?? "module";
  const isOff = isActive.value || whatIf.value !== null;
  const isGoing = exporting.value !== null; // the button keeps the focus meanwhile; a click on it does nothing
  return (
    <p>
      <label>
        Form of the artifact{" "}
        <select value={form} disabled={isOff || isGoing} onChange={(event) => chooseForm(event.currentTarget.value as AskedForm)}>
          {FORMS.map((one) => (
            <option key={one.form} value={one.form} disabled={one.form in whyNot}>{`${one.form}: ${formText(one, whyNot)}`}</option>
          ))}
        </select>
      </label>
      <button type="button" disabled={isOff} aria-disabled={isGoing} title={whatIf.value ? "Keep the plan first" : "Build the artifact in this form unless it is there, and download it"} onClick={() => void exportRun()}>
        Build and download
      </button>
      <span class="muted">{built === null ? "it is not built yet" : `it is built as ${built}`}</span>
    </p>
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
