// A rule tree, walked and folded by keys as any tree. The counts of a rule open the candidates that came through it, and its rejections.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { count } from "../../../base/format";
import type { RuleTree } from "../../../data/protocol";
import { keyOn, treeLines, optionText, rejectedBy, type TreeLine } from "../../../data/toolchains/rule_tree";
import { listedRule } from "../../../state/display";
import { showCandidates } from "../../../state/tables/rules";

interface Shown {
  tree: RuleTree;
  target: string;
  /** True if there is a run with counts. */
  hasCounts: boolean;
}

export function RuleTreeView(shown: Shown): JSX.Element {
  const closed = useSignal<ReadonlySet<string>>(new Set());
  const at = useSignal("0");
  const root = useRef<HTMLDivElement>(null);
  const lines = treeLines(shown.tree, closed.value);
  const current = Math.max(0, lines.findIndex((line) => line.key === at.value));
  const fold = (key: string, isFolded: boolean): void => {
    const next = new Set(closed.value);
    if (isFolded) next.add(key);
    else next.delete(key);
    closed.value = next;
  };
  const key = (event: KeyboardEvent): void => {
    if (event.target instanceof HTMLElement && event.target.role !== "treeitem") return;
    const line = lines[current];
    const meant = keyOn(lines, current, event.key);
    if (!line || !meant) return;
    event.preventDefault();
    event.stopPropagation();
    if ("fold" in meant) fold(line.key, meant.fold);
    else root.current?.querySelectorAll<HTMLElement>("[role=treeitem]")[meant.go]?.focus();
  };
  return (
    <div role="tree" aria-label={`Rule tree of ${shown.target}`} class="tree" ref={root} onKeyDown={key}>
      {lines.map((line, i) => (
        <Line key={line.key} line={line} shown={shown} isCurrent={i === current} parent={lines[line.parent]?.rule.rule} fold={fold} enter={() => (at.value = line.key)} />
      ))}
    </div>
  );
}

interface LineProps {
  line: TreeLine;
  shown: Shown;
  isCurrent: boolean;
  parent: string | undefined;
  fold: (key: string, isFolded: boolean) => void;
  enter: () => void;
}

function Line({ line, shown, isCurrent, parent, fold, enter }: LineProps): JSX.Element {
  const { rule, level, position, siblings, isOpen, key } = line;
  const hasMore = rule.of.length > 0;
  return (
    <div
      role="treeitem"
      aria-level={level}
      aria-posinset={position}
      aria-setsize={siblings}
      aria-expanded={hasMore ? isOpen : undefined}
      tabIndex={isCurrent ? 0 : -1}
      style={{ paddingLeft: `${(level - 1) * 16 + 4}px` }}
      onFocusCapture={enter}
    >
      <span class="twisty" aria-hidden="true" onClick={() => hasMore && fold(key, isOpen)}>
        {hasMore ? (isOpen ? "▾" : "▸") : ""}
      </span>
      <b>{rule.rule}</b>
      <span class="options">
        {Object.entries(rule.options).map(([word, value]) => {
          const { text, title } = optionText(word, value);
          return (
            <code key={word} title={title}>
              {text}
            </code>
          );
        })}
      </span>
      {shown.hasCounts && (parent === "segments" ? <span class="muted counts">says which nodes may be taken</span> : <Counts rule={rule} shown={shown} isCurrent={isCurrent} />)}
      {rule.notes.map((note) => (
        <span key={note} class="warn note">
          {note}
        </span>
      ))}
    </div>
  );
}

function Counts({ rule, shown, isCurrent }: { rule: RuleTree; shown: Shown; isCurrent: boolean }): JSX.Element {
  const { target } = shown;
  const rejected = rejectedBy(rule);
  const isListed = listedRule.value?.rule === rule;
  const tab = isCurrent ? 0 : -1;
  return (
    <span class="counts">
      <button type="button" class="link" tabIndex={tab} disabled={rule.candidates === 0} title="Show them under Costs" onClick={() => showCandidates(target, rule)}>
        {`gave ${count(rule.candidates)}${rule.is_shared ? " together" : ""}`}
      </button>
      {rejected > 0 && (
        <button
          type="button"
          class="link bad"
          tabIndex={tab}
          aria-pressed={isListed}
          title={rule.rejected.map((one) => `${count(one.count)} ${[one.stage, one.check].filter(Boolean).join(", ")}`).join("\n")}
          onClick={() => (listedRule.value = isListed ? null : { target, rule })}
        >
          {`rejected ${count(rejected)}`}
        </button>
      )}
    </span>
  );
}
