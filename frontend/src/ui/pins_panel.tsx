// The pins and vetoes that hold now, each with a way to its nodes and a way out; and a decision that could not hold.

import type { JSX } from "preact";
import { describe, namesIn, type Constraint } from "../constraints";
import { candidateLabel } from "../state/candidates";
import { constraints, isDeciding, refusal, withdraw, type Refusal } from "../state/decisions";
import { model } from "../state/model";
import { goTo } from "../state/navigation";
import { run } from "../state/run";
import { ErrorCard, Key } from "./parts";

export function PinsPanel(): JSX.Element {
  const all = constraints.value;
  if (all.length === 0) {
    return (
      <p class="muted">
        Nothing is pinned or vetoed. Select a node and press <Key>p</Key> to pin it to its target, or <Key>v</Key> to veto that target there; the best plan is found again at once, from the costs that are known.
      </p>
    );
  }
  return (
    <>
      {!run.value?.plan && <p class="muted">They take effect with the next run.</p>}
      <ul class="pins">
        {all.map((one, i) => (
          <li key={JSON.stringify(one)}>
            <ConstraintLink constraint={one} />
            <button type="button" class="icon" disabled={isDeciding.value} aria-label={`Remove: ${words(one)}`} title="Remove" onClick={() => void withdraw(i)}>
              ✕
            </button>
          </li>
        ))}
      </ul>
    </>
  );
}

function words(constraint: Constraint): string {
  return describe(constraint, candidateLabel);
}

/** A constraint in words; where it names a node, a way to it. */
function ConstraintLink({ constraint }: { constraint: Constraint }): JSX.Element {
  const name = namesIn(constraint)[0];
  const node = name === undefined ? undefined : model.value?.graph.nodes.find((one) => one.name === name);
  if (!node) return <span>{words(constraint)}</span>;
  return (
    <button type="button" class="link" onClick={() => goTo(node.id)}>
      {words(constraint)}
    </button>
  );
}

/** A decision that could not hold: why, and what it collides with. */
export function ConflictCard({ refusal: refused }: { refusal: Refusal }): JSX.Element {
  const colliding = refused.tried.filter((_, place) => refused.conflict.includes(place));
  return (
    <ErrorCard error={refused.error}>
      {colliding.length > 0 && (
        <>
          <p>{colliding.length === 1 ? "This cannot hold:" : "These cannot hold together:"}</p>
          <ul>
            {colliding.map((one) => (
              <li key={JSON.stringify(one)}>{words(one)}</li>
            ))}
          </ul>
        </>
      )}
      <p class="hint">The plan is as it was.</p>
      <button type="button" onClick={() => (refusal.value = null)}>
        Dismiss
      </button>
    </ErrorCard>
  );
}
