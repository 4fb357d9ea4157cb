// The keyboard: one table of shortcuts, which the help lists as well. Keys typed into a field are the field's own.

import { playOrPause, stepBy } from "./replay_player";
import { pin, runNow, veto } from "./state/actions";
import { showCoverage } from "./state/coverage";
import { step } from "./state/decisions";
import { groupByNext, toggleAll } from "./state/folding";
import { model } from "./state/model";
import { toggleSelected, walk } from "./state/navigation";
import { clearSelection, isHelpOpen, overlay, panelTab, showDrawer, type Overlay, type PanelTab } from "./state/selection";
import { fit, zoomStep } from "./state/view";

export interface Shortcut {
  keys: readonly string[];
  /** How the keys are shown. */
  shown: string;
  says: string;
  run: (event: KeyboardEvent) => void;
  /** Works without a model, too. */
  isGeneral?: boolean;
}

const showOverlay = (next: Overlay) => (): void => void (overlay.value = next);
const showTab = (next: PanelTab) => (): void => void (panelTab.value = next);

export const SHORTCUTS: readonly Shortcut[] = [
  { keys: ["/"], shown: "/", says: "find a node by name, operator or tensor", run: () => findAgain() },
  { keys: ["f"], shown: "f", says: "fit the whole model; again for its width", run: () => fit() },
  { keys: ["+", "="], shown: "+", says: "zoom in", run: () => zoomStep(1) },
  { keys: ["-"], shown: "−", says: "zoom out", run: () => zoomStep(-1) },
  { keys: ["ArrowUp"], shown: "↑", says: "walk to what makes the input", run: () => walk("up") },
  { keys: ["ArrowDown"], shown: "↓", says: "walk to what reads the output", run: () => walk("down") },
  { keys: ["ArrowLeft"], shown: "←", says: "walk to the neighbour on the left", run: () => walk("left") },
  { keys: ["ArrowRight"], shown: "→", says: "walk to the neighbour on the right", run: () => walk("right") },
  { keys: ["p"], shown: "p", says: "pin the selection to its target, or the chosen candidate exactly", run: () => pin() },
  { keys: ["v"], shown: "v", says: "veto the target for the selection, or the chosen candidate", run: () => veto() },
  { keys: ["u"], shown: "u", says: "undo the last pin or veto", run: () => step(-1) },
  { keys: ["U"], shown: "U", says: "redo it", run: () => step(1) },
  { keys: ["o"], shown: "o", says: "unfold the selected group, or fold the one around the selection", run: () => toggleSelected() },
  { keys: ["O"], shown: "O", says: "unfold all groups, or fold them", run: () => void toggleAll() },
  { keys: ["g"], shown: "g", says: "group by: nothing, repeated blocks, name scope, partition", run: () => void groupByNext() },
  { keys: ["t"], shown: "t", says: "colour by target", run: showOverlay("target") },
  { keys: ["h"], shown: "h", says: "colour by cost (heat)", run: showOverlay("cost") },
  { keys: ["s"], shown: "s", says: "colour by how sure each part is", run: showOverlay("certainty") },
  { keys: ["1", "2", "3", "4", "5", "6", "7", "8", "9"], shown: "1–9", says: "coverage of a target", run: (event) => showCoverage(Number(event.key)) },
  { keys: ["d"], shown: "d", says: "colour by the difference from another plan", run: showOverlay("difference") },
  { keys: ["c"], shown: "c", says: "compare two plans", run: () => showDrawer("compare") },
  { keys: [" "], shown: "space", says: "play or pause the replay of the search (when nothing has the focus)", run: () => playOrPause() },
  { keys: ["["], shown: "[", says: "one step of the search back", run: () => stepBy(-1) },
  { keys: ["]"], shown: "]", says: "one step of the search on", run: () => stepBy(1) },
  { keys: ["w"], shown: "w", says: "why: every candidate of the selection", run: showTab("why") },
  { keys: ["n"], shown: "n", says: "the node itself", run: showTab("node") },
  { keys: ["Enter"], shown: "Enter", says: "run (when nothing has the focus)", run: () => void runNow() },
  { keys: ["Escape"], shown: "Esc", says: "select nothing", run: () => clearSelection() },
  { keys: ["?"], shown: "?", says: "this list", run: () => void (isHelpOpen.value = true), isGeneral: true },
];

/** To the find box; what stands there is replaced by what is typed. */
function findAgain(): void {
  const input = document.getElementById("find");
  if (!(input instanceof HTMLInputElement)) return;
  input.focus();
  input.select();
}

/** Listen to the whole page. */
export function startKeys(): void {
  document.addEventListener("keydown", (event) => {
    if (event.ctrlKey || event.metaKey || event.altKey || event.defaultPrevented || isTyping(event.target)) return;
    if (isHelpOpen.value) return;
    if ((event.key === "Enter" || event.key === " ") && event.target !== document.body) return;
    const shortcut = SHORTCUTS.find((one) => one.keys.includes(event.key));
    if (!shortcut || (!shortcut.isGeneral && !model.value)) return;
    if (event.key.startsWith("Arrow") && !isOverGraph(event.target)) return;
    event.preventDefault();
    shortcut.run(event);
  });
}

function isTyping(target: EventTarget | null): boolean {
  return target instanceof HTMLElement && target.closest("input:not([type=range]), textarea, select, [contenteditable]") !== null;
}

/** Arrow keys scroll panels and move in lists; elsewhere they walk the graph. */
function isOverGraph(target: EventTarget | null): boolean {
  return target === document.body || (target instanceof Element && target.closest(".stage") !== null);
}
