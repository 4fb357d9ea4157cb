// The view "Pins": every term of the plan (pins, vetoes, cuts, switched-off targets, the accuracy, typed costs) with its effect, a link to its nodes
// and a button to remove it.

import type { ComponentChildren, JSX } from "preact";
import { duration, plural } from "../../base/format";
import { describeGroup, namesIn, type Constraint } from "../../data/plan/constraints";
import { typedBeforeText } from "../../data/plan/typed_cost";
import { unknownCosts } from "../../data/plan/summary";
import type { Effect } from "../../data/protocol";
import { model } from "../../state/model/model";
import { candidateLabel } from "../../state/plan/candidates";
import { isDeciding, isOtherAccuracy, isWaiting, setAccuracy, setCost, switchTarget, termCount, terms, withdraw } from "../../state/plan/decisions";
import { effects } from "../../state/plan/effects";
import { otherTerms } from "../../state/plan/other_terms";
import { run, whatIf } from "../../state/run/run";
import { point, selectNodes } from "../../state/selection/navigation";
import { Badge } from "../widgets/badge";
import { Key } from "../widgets/key";
import { Brings, ErrorField } from "./term_brings";

export function PinsTab(): JSX.Element {
  const { groups, off, accuracy, costs } = terms.value;
  if (termCount.value === 0) return <Nothing />;
  const known = effects.value;
  const unknown = run.value?.plan ? unknownCosts(run.value.plan) : 0;
  const isKnown = unknown === 0;
  return (
    <>
      {isWaiting.value && <p class="muted">They apply to the next run.</p>}
      <ul class="pins">
        {groups.map((group, i) => (
          <PinItem key={JSON.stringify(group)} words={groupText(group)} effect={isKnown ? known?.groups[i] : undefined} isHeld={isHeld(group)} remove={() => void withdraw(i)}>
            <GroupLink group={group} />
          </PinItem>
        ))}
        {off.map((target) => (
          <PinItem key={target} words={`${target} switched off`} effect={isKnown ? known?.off[target] : undefined} remove={() => void switchTarget(target)}>
            <span>
              <Badge target={target} isOff /> {target} switched off
            </span>
          </PinItem>
        ))}
        {Object.entries(costs).map(([id, seconds]) => (
          <TypedItem key={id} id={id} seconds={seconds} effect={isKnown ? known?.costs[id] : undefined} />
        ))}
        {isOtherAccuracy.value && (
          <PinItem words={`accuracy ${accuracy}`} effect={isKnown ? (known?.accuracy ?? undefined) : undefined} remove={() => void setAccuracy("")}>
            <span>accuracy {accuracy}</span>
          </PinItem>
        )}
      </ul>
      {known && isKnown && <p class="muted">Computed from known costs; nothing is measured.</p>}
      {known && !isKnown && <p class="muted">{`Their effect is not known, since ${plural(unknown, "cost")} of the plan ${unknown === 1 ? "is" : "are"} not: keep the plan, and Run measures ${unknown === 1 ? "it" : "them"}.`}</p>}
      <Untimed />
      <Brings />
      <ErrorField />
    </>
  );
}

function Nothing(): JSX.Element {
  return (
    <>
    <p class="muted">
      Nothing is pinned, vetoed or cut. Select nodes and press <Key>p</Key> to pin them to their target, <Key>v</Key> to veto that target there, <Key>x</Key> to cut around them, or right-click for more. The best plan is found again at once, from the costs that are
      known; a target switched off above, or another accuracy, is tried in the same way, and so is a cost that you type in under Why.
    </p>
    <ErrorField />
    </>
  );
}

/** A note on candidates that the looser accuracy allows, and whose costs are not measured. */
function Untimed(): JSX.Element | null {
  const count = whatIf.value?.untimed ?? 0;
  return count === 0 ? null : <p class="muted">{`${plural(count, "candidate")} would be accurate enough now, but nobody has timed ${count === 1 ? "it" : "them"}: run again to find out.`}</p>;
}

/** A cost that is typed in, as a link to its nodes, with the cost that is known. */
function TypedItem({ id, seconds, effect }: { id: string; seconds: number; effect: Effect | undefined }): JSX.Element {
  const told = otherTerms.value?.typed.find((one) => one.id === id);
  const label = candidateLabel(id) ?? (told ? `${told.label} of ${told.target}` : id);
  const words = `${label} takes ${duration(seconds)}, typed in`;
  const nodes = told?.nodes ?? [];
  return (
    <PinItem words={words} says={effect?.text} remove={() => void setCost(id, null)}>
      <button type="button" class="link" disabled={nodes.length === 0} onClick={() => selectNodes(nodes)} onPointerEnter={() => point(nodes)} onPointerLeave={() => point([])}>
        {words}
      </button>
      {told && <span class="muted">{typedBeforeText(told)}</span>}
    </PinItem>
  );
}

interface PinItemProps {
  words: string;
  effect?: Effect | undefined;
  /** The effect in other words than those of a constraint. */
  says?: string | undefined;
  isHeld?: boolean;
  remove: () => void;
  children: ComponentChildren;
}

export function PinItem({ words, effect, says = effect?.text, isHeld = true, remove, children }: PinItemProps): JSX.Element {
  return (
    <li>
      <span class="pin">
        {children}
        {!isHeld && <span class="bad"> cannot hold with the others that are marked</span>}
        {says && <span class="muted">{says}</span>}
      </span>
      <button type="button" class="icon" disabled={isDeciding.value} aria-label={`Remove: ${words}`} title="Remove" onClick={remove}>
        ✕
      </button>
    </li>
  );
}

/** True if no constraint of the group is among those that collide in the run. */
function isHeld(group: readonly Constraint[]): boolean {
  const { constraints, conflict } = run.value ?? { constraints: [], conflict: [] };
  const colliding = conflict.map((index) => JSON.stringify(constraints[index]));
  return !group.some((one) => colliding.includes(JSON.stringify(one)));
}

/** A group of constraints in words. */
export function groupText(group: readonly Constraint[]): string {
  return describeGroup(group, candidateLabel);
}

/** A group of constraints in words, as a link to the nodes that they name. */
function GroupLink({ group }: { group: readonly Constraint[] }): JSX.Element {
  const names = new Set(group.flatMap(namesIn));
  const nodes = (model.value?.graph.nodes ?? []).filter((one) => names.has(one.name)).map((one) => one.id);
  if (nodes.length === 0) return <span>{groupText(group)}</span>;
  return (
    <button type="button" class="link" onClick={() => selectNodes(nodes)} onPointerEnter={() => point(nodes)} onPointerLeave={() => point([])}>
      {groupText(group)}
    </button>
  );
}
