// The dialog "Decide by name": pins or vetoes all nodes whose names match a pattern, and shows how many match as the user types.

import { useComputed, useSignal, type Signal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect, useRef } from "preact/hooks";
import { plural } from "../../base/format";
import { globExpression } from "../../base/glob";
import { everyNode } from "../../data/plan/constraints";
import { pattern } from "../../state/menu/menu";
import { model } from "../../state/model/model";
import { decide } from "../../state/plan/decisions";
import { targetsToDecide } from "../../state/run/run";
import { point, selectNodes } from "../../state/selection/navigation";
import { Choice } from "../widgets/choice";

const SHOWN = 5;
type Kind = "pin" | "veto";

export function PatternDialog({ from }: { from: string }): JSX.Element {
  const dialog = useRef<HTMLDialogElement>(null);
  const text = useSignal(from);
  const kind = useSignal<Kind>("pin");
  const target = useSignal(targetsToDecide.peek()[0] ?? "");
  const found = useComputed(() => {
    const fits = globExpression(text.value);
    return (model.value?.graph.nodes ?? []).filter((node) => fits.test(node.name));
  });
  useEffect(() => {
    dialog.current?.showModal();
    return () => point([]);
  }, []);
  useEffect(() => point(found.value.map((node) => node.id)), [found.value]);
  const isPossible = found.value.length > 0 && target.value !== "";
  const submit = (event: Event): void => {
    event.preventDefault();
    dialog.current?.close();
    void decide(everyNode(kind.peek(), "name", text.peek(), target.peek()));
  };
  const selectAll = (): void => {
    dialog.current?.close();
    selectNodes(found.peek().map((node) => node.id));
  };
  return (
    <dialog ref={dialog} class="pattern" aria-labelledby="pattern-title" onClose={() => (pattern.value = null)}>
      <h2 id="pattern-title">Decide by name</h2>
      <form class="pattern-form" onSubmit={submit}>
        <label>
          <span>Pattern</span>
          <input type="text" value={text.value} spellcheck={false} autocomplete="off" aria-describedby="pattern-found" onInput={(event) => (text.value = event.currentTarget.value)} />
        </label>
        <p class="muted">* stands for anything, ? for one character, [ab] for one of several.</p>
        <Matches names={found.value.map((node) => node.name)} />
        <div class="pattern-row">
          <Choice label="What to do" choices={[{ id: "pin", content: "Pin to" }, { id: "veto", content: "Veto" }]} chosen={kind.value} choose={(next) => (kind.value = next)} />
          <TargetChoice target={target} />
        </div>
        <div class="pattern-row end">
          <button type="button" disabled={found.value.length === 0} onClick={selectAll}>
            Select them
          </button>
          <button type="button" onClick={() => dialog.current?.close()}>
            Cancel
          </button>
          <button type="submit" class="primary" disabled={!isPossible}>
            Try it
          </button>
        </div>
      </form>
    </dialog>
  );
}

/** The number of matching nodes, and the first of them. */
function Matches({ names }: { names: readonly string[] }): JSX.Element {
  return (
    <p id="pattern-found" role="status">
      <b>{names.length === 0 ? "no node" : plural(names.length, "node")}</b>{" "}
      <span class="muted">
        {names.slice(0, SHOWN).join(", ")}
        {names.length > SHOWN && "…"}
      </span>
    </p>
  );
}

function TargetChoice({ target }: { target: Signal<string> }): JSX.Element {
  return (
    <select aria-label="Target" value={target.value} onChange={(event) => (target.value = event.currentTarget.value)}>
      {targetsToDecide.value.map((name) => (
        <option key={name} value={name}>
          {name}
        </option>
      ))}
    </select>
  );
}
