// Find: results as one types, by name, operator or tensor; Enter goes to the chosen one, Escape leaves.

import { useComputed, useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { find, type Found } from "../graph/find";
import { model } from "../state/model";
import { goTo } from "../state/navigation";
import { hits } from "../state/selection";
import { Key } from "./parts";

const SHOWN = 40;

export function FindBox(): JSX.Element {
  const query = useSignal("");
  const at = useSignal(0);
  const isOpen = useSignal(false);
  const found = useComputed(() => search(query.value));
  const type = (text: string): void => {
    query.value = text;
    at.value = 0;
    isOpen.value = text !== "";
    hits.value = new Set(search(text).map((one) => one.box));
  };
  const leave = (input: HTMLInputElement): void => {
    type("");
    input.blur();
  };
  const key = (event: KeyboardEvent & { currentTarget: HTMLInputElement }): void => {
    const last = Math.min(found.value.length, SHOWN) - 1;
    const chosen = found.value[at.value];
    if (event.key === "ArrowDown") at.value = Math.min(last, at.value + 1);
    else if (event.key === "ArrowUp") at.value = Math.max(0, at.value - 1);
    else if (event.key === "Escape") leave(event.currentTarget);
    else if (event.key === "Enter" && chosen) {
      isOpen.value = false;
      goTo(chosen.box);
    } else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const isListed = isOpen.value && query.value !== "";
  return (
    <div class="find">
      <input
        id="find"
        type="text"
        list={undefined}
        role="combobox"
        aria-label="Find nodes"
        aria-expanded={isListed}
        aria-controls="found"
        aria-autocomplete="list"
        aria-activedescendant={isListed && found.value.length > 0 ? `found-${at.value}` : undefined}
        placeholder="Find"
        autocomplete="off"
        spellcheck={false}
        value={query.value}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={key}
        onFocus={() => (isOpen.value = true)}
        onBlur={() => (isOpen.value = false)}
      />
      {query.value === "" && <Key>/</Key>}
      {isListed && <Results found={found.value} at={at.value} />}
    </div>
  );
}

function Results({ found, at }: { found: readonly Found[]; at: number }): JSX.Element {
  return (
    <div class="results" id="found" role="listbox" aria-label="Found nodes">
      {found.slice(0, SHOWN).map((one, i) => (
        <div
          key={one.box}
          id={`found-${i}`}
          role="option"
          aria-selected={i === at}
          class="result"
          ref={(element) => {
            if (i === at) element?.scrollIntoView({ block: "nearest" });
          }}
          onPointerDown={(event) => (event.preventDefault(), goTo(one.box))}
        >
          <b>{one.title}</b> <span class="muted">{one.detail === one.title ? "" : one.detail}</span>
        </div>
      ))}
      {found.length === 0 && <div class="result muted">nothing found</div>}
      {found.length > SHOWN && <div class="result muted">{`and ${found.length - SHOWN}${found.length >= 200 ? " or more" : ""}`}</div>}
    </div>
  );
}

function search(query: string): Found[] {
  const opened = model.value;
  if (!opened || query.trim() === "") return [];
  const { nodes } = opened.graph;
  return find(opened.built, (box) => nodes[box]?.outputs.map((tensor) => tensor.name) ?? [], query);
}
