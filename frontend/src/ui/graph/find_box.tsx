// The find box: results as the user types, by name, operator or tensor. Enter goes to the chosen result, Escape leaves. Matching
// operators are above the nodes: Enter selects all nodes of one, the Menu key or a right click opens the menu for them.

import { computed, useComputed, useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { findBoxes, searchableBoxes, findOps, type FoundBox, type FoundOp } from "../../graph/boxes/find";
import { openMenuAt, openOpMenu } from "../../state/menu/decide_menu";
import { menu } from "../../state/menu/menu";
import { model } from "../../state/model/model";
import { goToBox, selectNodes } from "../../state/selection/navigation";
import { hits } from "../../state/selection/selection";
import { Key } from "../widgets/key";

const SHOWN = 40;

export function FindBox(): JSX.Element {
  const query = useSignal("");
  const at = useSignal(0);
  const isOpen = useSignal(false);
  const found = useComputed(() => search(query.value));
  /** Open or close the list. Found boxes are marked only while it is open, so that the overlay can be read afterwards. */
  const open = (isOpenNow: boolean): void => {
    isOpen.value = isOpenNow;
    hits.value = new Set(isOpenNow ? found.peek().nodes.map((one) => one.box) : []);
  };
  const type = (text: string): void => {
    query.value = text;
    at.value = found.peek().ops.length;
    open(text !== "");
  };
  const leave = (input: HTMLInputElement): void => {
    type("");
    input.blur();
  };
  const key = (event: KeyboardEvent & { currentTarget: HTMLInputElement }): void => {
    const { ops, nodes } = found.value;
    const last = ops.length + Math.min(nodes.length, SHOWN) - 1;
    if (event.key === "ArrowDown") at.value = Math.min(last, at.value + 1);
    else if (event.key === "ArrowUp") at.value = Math.max(0, at.value - 1);
    else if (event.key === "Escape") leave(event.currentTarget);
    else if (event.key === "Enter" && at.value <= last) {
      isOpen.value = false;
      go(found.value, at.value);
    } else if (isMenuKey(event)) decideFor(found.value, at.value);
    else return;
    event.preventDefault();
    event.stopPropagation();
  };
  const isListed = isOpen.value && query.value !== "";
  const count = found.value.ops.length + found.value.nodes.length;
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
        aria-activedescendant={isListed && count > 0 ? `found-${at.value}` : undefined}
        placeholder="Find"
        autocomplete="off"
        spellcheck={false}
        value={query.value}
        onInput={(event) => type(event.currentTarget.value)}
        onKeyDown={key}
        onFocus={() => open(true)}
        onBlur={() => open(menu.peek() !== null)}
      />
      {query.value === "" && <Key>/</Key>}
      {isListed && <Results found={found.value} at={at.value} />}
    </div>
  );
}

interface Results {
  ops: readonly FoundOp[];
  nodes: readonly FoundBox[];
}

function isMenuKey(event: KeyboardEvent): boolean {
  return event.key === "ContextMenu" || (event.key === "F10" && event.shiftKey);
}

/** Go to the node at an index of the list, or select all nodes of the operator there. */
function go({ ops, nodes }: Results, at: number): void {
  const op = ops[at];
  const node = nodes[at - ops.length];
  if (op) selectNodes(op.nodes);
  else if (node) goToBox(node.box);
}

/** Open the menu for the result at an index of the list. */
function decideFor({ ops, nodes }: Results, at: number): void {
  const rect = document.getElementById(`found-${at}`)?.getBoundingClientRect();
  const point = { x: rect?.left ?? 0, y: rect?.bottom ?? 0 };
  const op = ops[at];
  const node = nodes[at - ops.length];
  if (op) openOpMenu(op.op, point);
  else if (node) openMenuAt({ kind: "box", box: node.box }, point);
}

function Results({ found, at }: { found: Results; at: number }): JSX.Element {
  const { ops, nodes } = found;
  return (
    <div class="results" id="found" role="listbox" aria-label="Found nodes">
      {ops.map(({ op, nodes: all }, i) => (
        <Row key={`op ${op}`} index={i} at={at} found={found}>
          all <b>{op}</b> <span class="muted">{all.length}</span>
        </Row>
      ))}
      {nodes.slice(0, SHOWN).map((one, i) => (
        <Row key={one.box} index={ops.length + i} at={at} found={found}>
          <b>{one.title}</b> <span class="muted">{one.detail === one.title ? "" : one.detail}</span>
        </Row>
      ))}
      {nodes.length === 0 && <div class="result muted">nothing found</div>}
      {nodes.length > SHOWN && <div class="result muted">{`and ${nodes.length - SHOWN}${nodes.length >= 200 ? " or more" : ""}`}</div>}
    </div>
  );
}

/** A result; the one at `at` is the chosen one. */
function Row({ index, at, found, children }: { index: number; at: number; found: Results; children: ComponentChildren }): JSX.Element {
  return (
    <div
      id={`found-${index}`}
      role="option"
      aria-selected={index === at}
      class="result"
      ref={(element) => {
        if (index === at) element?.scrollIntoView({ block: "nearest" });
      }}
      onPointerDown={(event) => {
        event.preventDefault();
        if (event.button === 0) go(found, index);
      }}
      onContextMenu={(event) => {
        event.preventDefault();
        decideFor(found, index);
      }}
    >
      {children}
    </div>
  );
}

const built = computed(() => model.value?.built);

const among = computed(() => {
  const nodes = model.peek()?.graph.nodes ?? [];
  return built.value ? searchableBoxes(built.value, (box) => nodes[box]?.outputs.map((tensor) => tensor.name) ?? []) : [];
});

function search(query: string): Results {
  if (query.trim() === "") return { ops: [], nodes: [] };
  return { nodes: findBoxes(among.value, query), ops: findOps(model.peek()?.graph.nodes ?? [], query) };
}
