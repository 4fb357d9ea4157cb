// The card of a decision that cannot hold, with a button for each of the colliding terms that tries the rest.

import type { JSX } from "preact";
import { decideWithout, refusal, type Refusal } from "../../state/plan/decisions";
import { groupText, PinItem } from "../drawer/pins";
import { ErrorCard } from "../widgets/error_card";

/** A decision that cannot hold, with the reason and the constraints with which it collides. */
export function ConflictCard({ refusal: refused }: { refusal: Refusal }): JSX.Element {
  const groups = refused.groups.map((index) => ({ key: index, words: groupText(refused.wanted.groups[index] ?? []) }));
  const colliding = [...groups, ...refused.off.map((target) => ({ key: target, words: `${target} switched off` }))];
  // The list names what the server's message only numbers.
  const message = colliding.length === 1 ? "no plan holds this" : "these cannot hold together";
  return (
    <ErrorCard error={colliding.length > 0 ? { ...refused.error, message, hint: "remove one, and the rest is tried" } : refused.error}>
      {colliding.length > 0 && (
        <ul class="pins">
          {colliding.map(({ key, words }) => (
            <PinItem key={key} words={words} effect={undefined} remove={() => void decideWithout(refused, key)}>
              <span>{words}</span>
            </PinItem>
          ))}
        </ul>
      )}
      <p class="hint">The plan is as it was.</p>
      <button type="button" onClick={() => (refusal.value = null)}>
        Dismiss
      </button>
    </ErrorCard>
  );
}
