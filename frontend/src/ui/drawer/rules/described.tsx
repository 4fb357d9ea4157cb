// The page "Describe one": an editor for a described toolchain, which shows the line of a mistake, and what the toolchain would gain.

import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { duration } from "../../../base/format";
import type { DescriptionMistake } from "../../../data/protocol";
import { gainOf, lineCount, lineSpan } from "../../../data/toolchains/description";
import { model } from "../../../state/model/model";
import { deleteSaved, describedError, discardTried, isSaved, isTrying, keepTried, descriptionCheck, savedDescriptions, savedName, saveDescription, startDescription, descriptionText, tryDescription, watchDescription, whyNotTry, writeDescription } from "../../../state/plan/described";
import { tryOut, type TryOut } from "../../../state/plan/try_out";
import { isActive, run } from "../../../state/run/run";
import { point, showNodes } from "../../../state/selection/navigation";
import { Badge } from "../../widgets/badge";
import { ErrorCard } from "../../widgets/error_card";

export function DescribedToolchain(): JSX.Element {
  useEffect(watchDescription, []);
  return (
    <div class="rules-body">
      <Editor />
      <div class="tried">
        <Buttons />
        {describedError.value && <ErrorCard error={describedError.value} />}
        {tryOut.value ? <Answer found={tryOut.value} /> : <Reading />}
      </div>
    </div>
  );
}

function Editor(): JSX.Element {
  const area = useRef<HTMLTextAreaElement>(null);
  const gutter = useRef<HTMLDivElement>(null);
  const wrong = descriptionCheck.value?.mistake?.line;
  const key = (event: KeyboardEvent): void => {
    if (event.key !== "Enter" || !(event.ctrlKey || event.metaKey)) return;
    event.preventDefault();
    void tryDescription();
  };
  const follow = (): void => {
    if (gutter.current && area.current) gutter.current.scrollTop = area.current.scrollTop;
  };
  return (
    <div class="editor">
      <div class="gutter" ref={gutter} aria-hidden="true">
        {Array.from({ length: lineCount(descriptionText.value) }, (_, i) => (
          <span key={i} class={i + 1 === wrong ? "bad" : undefined}>
            {i + 1}
          </span>
        ))}
      </div>
      <textarea
        id="description"
        ref={area}
        aria-label="Description of a toolchain, as TOML"
        aria-invalid={wrong !== undefined}
        aria-describedby="description-reads"
        spellcheck={false}
        wrap="off"
        value={descriptionText.value}
        onInput={(event) => writeDescription(event.currentTarget.value)}
        onScroll={follow}
        onKeyDown={key}
      />
    </div>
  );
}

function Buttons(): JSX.Element {
  const name = savedName.value;
  const canSave = descriptionCheck.value?.name !== null && !descriptionCheck.value?.mistake && !isSaved.value;
  return (
    <div class="table-bar">
      <button type="button" class="primary" disabled={whyNotTry.value !== "" || isTrying.value} title={whyNotTry.value || "Find the best plan with it (ctrl Enter)"} onClick={() => void tryDescription()}>
        {isTrying.value ? "Trying…" : "Try"}
      </button>
      <button type="button" disabled={!canSave} title="Keep it under its name, as a target of further runs" onClick={() => void saveDescription()}>
        Save
      </button>
      <select aria-label="Begin from" value={isSaved.value ? (name ?? "") : ""} onChange={(event) => startDescription(event.currentTarget.value || null)}>
        <option value="">{isSaved.value || savedDescriptions.value.length === 0 ? "the template" : "begin from…"}</option>
        {savedDescriptions.value.map((one) => (
          <option key={one.name} value={one.name}>
            {one.name}
          </option>
        ))}
      </select>
      {name !== null && (
        <button type="button" title={`Delete the saved ${name}`} onClick={() => void deleteSaved(name)}>
          {`Delete ${name}`}
        </button>
      )}
    </div>
  );
}

/** The server's reading of the text, or its mistake. */
function Reading(): JSX.Element {
  const found = descriptionCheck.value;
  return (
    <div id="description-reads" role="status">
      {found?.mistake ? (
        <Mistake mistake={found.mistake} />
      ) : (
        <p class="muted">
          {found ? (whyNotTry.value || `${found.name ?? ""} has no mistakes. Try it: the best plan with it is found on the known costs and the estimates by its [cost].`) : describedError.value ? "" : "Reading…"}
        </p>
      )}
    </div>
  );
}

function Mistake({ mistake }: { mistake: DescriptionMistake }): JSX.Element {
  const show = (): void => {
    const area = document.getElementById("description");
    if (!(area instanceof HTMLTextAreaElement)) return;
    area.focus();
    area.setSelectionRange(...lineSpan(area.value, mistake.line));
  };
  return (
    <>
      <p>
        <button type="button" class="link" onClick={show}>{`line ${mistake.line}`}</button>: <span class="bad">{mistake.message}</span>
      </p>
      <p class="hint">{mistake.hint}</p>
    </>
  );
}

const LISTED = 40;

/** The gain of the tried toolchain, with the buttons to keep or discard it. */
function Answer({ found }: { found: TryOut }): JSX.Element | null {
  const { name, before, after, change } = found;
  if (!after.plan) return null;
  const gain = gainOf(name, after.plan);
  return (
    <section aria-label={`Gain with ${name}`}>
      <p role="status">
        <Badge target={name} /> <b>{change.text}</b> <span class="tag">estimate</span>
        <br />
        {gain.partitions.length === 0 ? `${name} would take nothing: no plan with it is better.` : `${name} would take ${gain.takes}.`} <span class="muted">{`Its costs are estimates by its [cost]. ${after.verdict ? `The plan: ${after.verdict.text}.` : ""}`}</span>
      </p>
      {gain.partitions.length === 0 && after.notes.filter((note) => note.includes("matches nothing") || note.includes("find nothing")).map((note) => <p key={note} class="warn">{note}</p>)}
      <div class="table-bar">
        <button type="button" class="primary" onClick={keepTried} disabled={isActive.value || run.value?.id !== before.id}>
          Keep
        </button>
        <button type="button" onClick={discardTried}>
          Discard
        </button>
        <span class="muted">drawn as the difference on the graph</span>
      </div>
      <ul class="taken">
        {gain.partitions.slice(0, LISTED).map((one) => (
          <li key={one.id} onPointerEnter={() => point(one.nodes)} onPointerLeave={() => point([])}>
            <button type="button" class="link" onClick={() => showNodes(one.nodes)}>
              {one.ops.length > 3 ? `${one.ops.slice(0, 2).join(" + ")} + ${one.ops.length - 2} more` : one.ops.join(" + ")} <span class="muted">{model.value?.graph.nodes[one.nodes[0] ?? 0]?.name}</span>
            </button>
            <span class="muted">{one.cost_s === null ? "" : `about ${duration(one.cost_s)}`}</span>
          </li>
        ))}
        {gain.partitions.length > LISTED && <li class="muted">{`and ${gain.partitions.length - LISTED} more`}</li>}
      </ul>
    </section>
  );
}
