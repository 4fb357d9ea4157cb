// The bar at the top: model, targets, accuracy, Run or Cancel, the total by target, the result, Export, help.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { duration, plural } from "../../base/format";
import { isReport } from "../../data/config";
import { isRecorded, shares } from "../../data/plan/summary";
import { parseAccuracy } from "../../data/plan/terms";
import { isHelpOpen } from "../../state/display";
import { chosenTargets, styleOf } from "../../state/model/catalogue";
import { model } from "../../state/model/model";
import { closeModel } from "../../state/model/open";
import { setAccuracy } from "../../state/plan/decisions";
import { cancelExport, exporting, isExportOpen } from "../../state/run/export";
import { accuracyText, cancelRun, isActive, run, whatIf } from "../../state/run/run";
import { runNow } from "../../state/run/start";
import { useOneLine } from "./fitting";
import { ModelMenu } from "./model_menu";
import { ReportNote } from "./report_note";
import { Readout } from "./readout";
import { BudgetField, RunPreview } from "./run_preview";
import { TargetChips } from "./target_chips";

export function TopBar(): JSX.Element {
  const header = useRef<HTMLElement>(null);
  useOneLine(header);
  return (
    <header class="top" ref={header}>
      {isReport ? (
        <span class="brand">Collage</span>
      ) : (
        <button type="button" class="brand" onClick={closeModel} title="All models">
          Collage
        </button>
      )}
      {model.value && <h1 class="unseen">{model.value.info.name}</h1>}
      {model.value && <ModelMenu />}
      {isReport && <ReportNote />}
      {model.value && !isReport && <NextRun />}
      <span class="spacer" />
      <TotalBar />
      <Readout />
      {run.value?.plan && !isReport && <ExportButton />}
      <button type="button" class="plain ask-keys" aria-label="Keyboard shortcuts" title="Keyboard shortcuts (?)" onClick={() => (isHelpOpen.value = true)}>
        ?
      </button>
    </header>
  );
}

/** The targets and the accuracy of the next run, and the buttons that start and stop it. */
function NextRun(): JSX.Element {
  return (
    <>
      <TargetChips />
      <Accuracy />
      <RunButtons />
    </>
  );
}

function Accuracy(): JSX.Element {
  const isWrong = parseAccuracy(accuracyText.value) === undefined;
  const byDefault = (model.value?.info.accuracy ?? 1e-3).toExponential();
  return (
    <label class="accuracy" title="Largest relative error that a plan may have; a change is tried at once with known costs">
      <span class="word">accuracy </span>
      <input
        aria-label="accuracy"
        type="text"
        size={5}
        inputMode="decimal"
        placeholder={byDefault}
        aria-invalid={isWrong}
        value={accuracyText.value}
        onInput={(event) => (accuracyText.value = event.currentTarget.value)}
        onChange={(event) => void setAccuracy(event.currentTarget.value)}
      />
    </label>
  );
}

/** Run and Cancel take each other's place: the second click of a double click was meant for the button that was there at the first. */
function once(act: () => Promise<void>): (event: MouseEvent) => void {
  return (event) => {
    if (event.detail < 2) void act();
  };
}

function RunButtons(): JSX.Element {
  if (isActive.value) {
    return (
      <button type="button" class="stop run-button" onClick={once(cancelRun)}>
        Cancel
      </button>
    );
  }
  const targets = chosenTargets.value.length;
  return (
    <>
      <button type="button" class="primary run-button" disabled={targets === 0} title={targets === 0 ? "Switch a target on first" : "Measure and search (Enter)"} onClick={once(runNow)}>
        Run <span aria-hidden="true">▸</span>
      </button>
      <BudgetField />
      {targets > 0 && <RunPreview />}
    </>
  );
}

function ExportButton(): JSX.Element {
  const going = exporting.value;
  const button = useRef<HTMLButtonElement>(null);
  const shown = isExportOpen.value ? "dialog" : going ? "progress" : "button";
  const before = useRef(shown);
  useEffect(() => {
    // Dialog, progress and button take each other's place; who uses the keyboard stays there.
    if (before.current !== shown && document.activeElement === document.body) button.current?.focus();
    before.current = shown;
  }, [shown]);
  if (going && shown === "progress") {
    return (
      <span class="exporting">
        <button type="button" disabled>{`${going.what}: ${going.words}…`}</button>
        <button ref={button} type="button" class="stop" aria-label={going.what === "Export" ? "Stop the export" : "Stop measuring"} title="Stop; the plan stays as it is" onClick={() => void cancelExport()}>
          ✕
        </button>
      </span>
    );
  }
  return (
    <button ref={button} type="button" class="export" disabled={isActive.value || whatIf.value !== null} aria-haspopup="dialog" onClick={() => (isExportOpen.value = true)} title={whatIf.value ? "Keep the plan first" : "The plan, and what runs it elsewhere"}>
      Export
    </button>
  );
}

/** The total as one bar, by target; transitions are grey. */
function TotalBar(): JSX.Element | null {
  const plan = run.value?.plan;
  if (!plan || !run.value || plan.partitions.every((partition) => partition.cost_s === null)) return null;
  const all = shares(plan);
  const sum = all.reduce((seconds, share) => seconds + share.seconds, 0);
  const words = all.map((share) => `${share.name === "transition" ? "transitions" : share.name} ${duration(share.seconds)}`).join(", ");
  const label = `Predicted total by target: ${words}; ${plural(plan.partitions.length, "partition")}${isRecorded(run.value) ? ", recorded" : ""}`;
  return (
    <span class="total-bar" role="img" aria-label={label} title={label}>
      {all.map((share) => (
        <span key={share.name} style={{ flexGrow: sum > 0 ? share.seconds / sum : 0, background: share.name === "transition" ? "var(--grey)" : styleOf(share.name).base }} />
      ))}
    </span>
  );
}
