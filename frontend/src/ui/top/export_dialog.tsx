// The dialog to export a plan: the form of what runs it, then the download; its files, the commands for them, and files in formats of others.
// Each file is saved by a button of its own.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { api } from "../../data/api";
import type { ExportInfo, RunSnapshot, Shipped } from "../../data/protocol";
import { cancelExport, chosenForm, chooseForm, exportAs, exporting, firstForm, FORMS, isExportOpen } from "../../state/run/export";
import { beingMade, saveExport } from "../../state/run/exports";
import { isActive, run, runError, whatIf } from "../../state/run/run";
import { CopyButton } from "../widgets/copy_button";
import { ErrorCard } from "../widgets/error_card";

export function ExportDialog(): JSX.Element | null {
  const current = run.value;
  return isExportOpen.value && current?.plan ? <Dialog key={current.id} current={current} /> : null;
}

function Dialog({ current }: { current: RunSnapshot }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const told = useSignal<ExportInfo | null>(null);
  useEffect(() => dialog.current?.showModal(), []);
  useEffect(() => {
    let isWanted = true;
    void api.exportContents(current.id).then(
      (found) => {
        if (isWanted) told.value = found;
      },
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [current.seq]); // an artifact that is built leaves only new events
  return (
    <dialog ref={dialog} class="export-dialog" aria-labelledby="export-title" onClose={() => (isExportOpen.value = false)}>
      <h2 id="export-title">{`Export the plan of ${current.model_name}`}</h2>
      {told.value && (
        <>
          <Forms info={told.value} />
          <Contents info={told.value} current={current} />
        </>
      )}
      {runError.value && <ErrorCard error={runError.value} />}
      <form method="dialog">
        <span />
        <button type="submit">Close</button>
      </form>
    </dialog>
  );
}

/** The forms that an artifact can have, native files first; then the button that builds the chosen one, or saves it. */
function Forms({ info: { form: built, why_not: whyNot } }: { info: ExportInfo }): JSX.Element {
  const form = chosenForm.value ?? built ?? firstForm(whyNot);
  const going = exporting.value;
  const button = useRef<HTMLButtonElement>(null);
  const wasGoing = useRef(going !== null);
  useEffect(() => {
    // Stop and the other button take each other's place; who uses the keyboard stays there.
    if (wasGoing.current !== (going !== null)) button.current?.focus();
    wasGoing.current = going !== null;
  }, [going !== null]);
  return (
    <>
      <fieldset class="export-forms" disabled={going !== null}>
        <legend>What runs it elsewhere</legend>
        {FORMS.map((one) => (
          <label key={one.form} class={one.form in whyNot ? "muted" : undefined}>
            <input type="radio" name="form" value={one.form} checked={one.form === form} disabled={one.form in whyNot} onChange={() => chooseForm(one.form)} />
            <span>
              <b>{`${one.name}:`}</b> {whyNot[one.form] === undefined ? one.says : `not for this plan: ${whyNot[one.form] ?? ""}`}
            </span>
          </label>
        ))}
      </fieldset>
      <p class="export-do" role="status">
        {going !== null ? (
          <>
            <span>{`${going.what}: ${going.words}…`}</span>
            <button ref={button} type="button" class="stop" onClick={() => void cancelExport()}>
              Stop
            </button>
          </>
        ) : (
          <>
            <button ref={button} type="button" class="primary" disabled={isActive.value || whatIf.value !== null} onClick={() => void exportAs(form, built === form)}>
              {built === form ? "Download" : "Build and download"}
            </button>
            <span class="muted">{built === form ? "built, and checked against the reference" : built === null ? "not built yet" : `built as ${built} so far`}</span>
          </>
        )}
      </p>
    </>
  );
}

function Contents({ info, current }: { info: ExportInfo; current: RunSnapshot }): JSX.Element {
  return (
    <section class="shipping" aria-label="Contents of the export">
      <h3>The download holds</h3>
      <dl>
        {info.files.map(({ name, says }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd class="muted">{says}</dd>
          </div>
        ))}
      </dl>
      {info.commands.map((command) => (
        <Command key={command.name} command={command} />
      ))}
      <h3>Single files, in other formats</h3>
      <dl>
        {info.exports.map(({ name, says }) => (
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

function Command({ command }: { command: Shipped }): JSX.Element {
  return (
    <p>
      <code>{command.name}</code>
      <CopyButton text={command.name} label={`Copy the command: ${command.says}`} />
      <span class="muted">{command.says}</span>
    </p>
  );
}
