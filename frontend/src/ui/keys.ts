// The keyboard shortcuts, as one table that the help lists as well. Keys that are typed into a field are left to the field.

import { isReport } from "../data/config";
import { isHelpOpen, overlay, type Overlay, panelTab, type PanelTab, showDrawer } from "../state/display";
import { showCoverage } from "../state/graph/coverage";
import { fit, zoomStep } from "../state/graph/view";
import { openSelectionMenu } from "../state/menu/decide_menu";
import { menu, pattern } from "../state/menu/menu";
import { groupByNext, toggleAll, toggleColumns } from "../state/model/folding";
import { leaveScope } from "../state/model/file_view";
import { model } from "../state/model/model";
import { cut, discard, keep, pin, stepHistory, veto } from "../state/plan/decisions";
import { playOrPause, stepBy } from "../state/replay/player";
import { isExportOpen } from "../state/run/export";
import { whatIf } from "../state/run/run";
import { runNow } from "../state/run/start";
import { toggleSelected, walk } from "../state/selection/navigation";
import { clearSelection, selection } from "../state/selection/selection";
import { areKeysOn } from "../state/settings";

export interface Shortcut {
  keys: readonly string[];
  /** The keys as text. */
  shown: string;
  says: string;
  run: (event: KeyboardEvent) => void;
  /** True if it works where single-key shortcuts are switched off: a key that types nothing. */
  isAlways?: boolean;
  /** True if it works without a model. */
  isGeneral?: boolean;
  /** True if it decides or starts something, which no report does. */
  isDecision?: boolean;
}

const showOverlay = (next: Overlay) => (): void => void (overlay.value = next);
const showTab = (next: PanelTab) => (): void => void (panelTab.value = next);

const EVERY: readonly Shortcut[] = [
  { keys: ["/"], shown: "/", says: "find a node by name, operator or tensor", run: () => findAgain() },
  { keys: ["f"], shown: "f", says: "fit the whole model; again for its width", run: () => fit() },
  { keys: ["+", "="], shown: "+", says: "zoom in", run: () => zoomStep(1) },
  { keys: ["-"], shown: "−", says: "zoom out", run: () => zoomStep(-1) },
  { keys: ["ArrowUp"], shown: "↑", says: "go to the node that makes the input; with shift, add it to the selection", run: (event) => walk("up", event.shiftKey), isAlways: true },
  { keys: ["ArrowDown"], shown: "↓", says: "go to a node that reads the output", run: (event) => walk("down", event.shiftKey), isAlways: true },
  { keys: ["ArrowLeft"], shown: "←", says: "go to the neighbour on the left", run: (event) => walk("left", event.shiftKey), isAlways: true },
  { keys: ["ArrowRight"], shown: "→", says: "go to the neighbour on the right", run: (event) => walk("right", event.shiftKey), isAlways: true },
  { keys: ["p"], shown: "p", says: "pin the selection to its target, a partition or the chosen candidate exactly", run: () => pin(), isDecision: true },
  { keys: ["v"], shown: "v", says: "veto the target for the selection, or the chosen candidate", run: () => veto(), isDecision: true },
  { keys: ["x"], shown: "x", says: "cut between two selected neighbours, or around the selection", run: () => cut(), isDecision: true },
  { keys: ["ContextMenu"], shown: "Menu", says: "everything that can be decided for the selection (or shift F10)", run: () => openSelectionMenu(), isAlways: true, isDecision: true },
  { keys: ["k"], shown: "k", says: "keep the plan of the what-if", run: () => void keep(), isDecision: true },
  { keys: ["u"], shown: "u", says: "undo the last decision", run: () => stepHistory(-1), isDecision: true },
  { keys: ["U"], shown: "U", says: "redo it", run: () => stepHistory(1), isDecision: true },
  { keys: ["o"], shown: "o", says: "unfold the selected group, or fold the one around the selection", run: () => toggleSelected() },
  { keys: ["O"], shown: "O", says: "unfold all groups, or fold them", run: () => void toggleAll() },
  { keys: ["Backspace"], shown: "⌫", says: "from a body or a function back to the graph around it", run: () => leaveScope(), isAlways: true },
  { keys: ["m"], shown: "m", says: "columns, an overview of a long model, or straight down", run: () => void toggleColumns() },
  { keys: ["g"], shown: "g", says: "group by: nothing, repeated blocks, name scope, partition", run: () => void groupByNext() },
  { keys: ["t"], shown: "t", says: "colour by target", run: showOverlay("target") },
  { keys: ["h"], shown: "h", says: "colour by cost (heat)", run: showOverlay("cost") },
  { keys: ["s"], shown: "s", says: "colour by the certainty of each partition", run: showOverlay("certainty") },
  { keys: ["1", "2", "3", "4", "5", "6", "7", "8", "9"], shown: "1–9", says: "coverage of a target", run: (event) => showCoverage(Number(event.key)) },
  { keys: ["d"], shown: "d", says: "colour by the difference from another plan", run: showOverlay("difference") },
  { keys: ["c"], shown: "c", says: "compare two plans", run: () => showDrawer("compare") },
  { keys: [" "], shown: "space", says: "play or pause the replay of the search (when nothing has the focus)", run: () => playOrPause() },
  { keys: ["["], shown: "[", says: "one step of the search back", run: () => stepBy(-1) },
  { keys: ["]"], shown: "]", says: "one step of the search on", run: () => stepBy(1) },
  { keys: ["w"], shown: "w", says: "why: every candidate of the selection", run: showTab("why") },
  { keys: ["n"], shown: "n", says: "the node itself", run: showTab("node") },
  { keys: ["Enter"], shown: "Enter", says: "run (when nothing has the focus)", run: () => void runNow(), isAlways: true, isDecision: true },
  { keys: ["Escape"], shown: "Esc", says: "clear the selection; when nothing is selected, discard the what-if", run: () => escape(), isAlways: true },
  { keys: ["?"], shown: "?", says: "this list", run: () => void (isHelpOpen.value = true), isGeneral: true },
];

export const SHORTCUTS = isReport ? EVERY.filter((one) => !one.isDecision) : EVERY;

/** Go to the find box, and select its text, which typing replaces. */
function findAgain(): void {
  const input = document.getElementById("find");
  if (!(input instanceof HTMLInputElement)) return;
  input.focus();
  input.select();
}

/** Clear the selection; if there is none, discard the what-if. */
function escape(): void {
  if (selection.peek().kind === "none" && whatIf.peek()) discard();
  else clearSelection();
}

/** Listen to keys on the whole page. */
export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
    if (isHelpOpen.value || isExportOpen.value || menu.value || pattern.value !== null) return;
    if ((event.key === "Enter" || event.key === " ") && !isNothing(event.target)) return;
    const shortcut = shortcutFor(event);
    if (!shortcut) return;
    if (event.key.startsWith("Arrow") && !isOverGraph(event.target)) return;
    event.preventDefault();
    shortcut.run(event);
  });
}

/** The shortcut of a key, where it works now; undefined otherwise. */
function shortcutFor({ key, shiftKey }: KeyboardEvent): Shortcut | undefined {
  const name = key === "F10" && shiftKey ? "ContextMenu" : key;
  const found = SHORTCUTS.find((one) => one.keys.includes(name));
  const isFile = (model.value?.file ?? null) !== null; // its nodes are not those that a plan is about
  const isPossible = found && !(isFile && found.isDecision && name !== "Enter") && (found.isGeneral ?? model.value !== null) && (found.isAlways ?? areKeysOn.value);
  return isPossible ? found : undefined;
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input:not([type=range]), textarea, select, [contenteditable]") !== null;
}

/** True if no control has the focus: nothing has it, or the graph as a whole. */
function isNothing(target: EventTarget | null): boolean {
  return target === document.body || (target instanceof Element && target.id === "stage");
}

/** True if arrow keys walk the graph here; in panels they scroll, and in lists they move the choice. */
function isOverGraph(target: EventTarget | null): boolean {
  return target === document.body || (target instanceof Element && target.closest(".stage") !== null);
}
