// A small button inside a row of a table, with an action of its own.

import type { JSX } from "preact";

/** Handles an event of a button in a row by `act`, and keeps the event from the row. */
export function stopped(act: () => void): (event: Event) => void {
  return (event) => {
    event.stopPropagation();
    act();
  };
}

interface RowButtonProps {
  says: string;
  hint?: string;
  isReached: boolean | undefined;
  isPressed?: boolean;
  isOff?: boolean;
  act: () => void;
  children: string;
}

export function RowButton({ says, hint = says, isReached = false, isPressed, isOff = false, act, children }: RowButtonProps): JSX.Element {
  return (
    <button type="button" class="icon" aria-label={says} title={hint} aria-pressed={isPressed} disabled={isOff} tabIndex={isReached ? 0 : -1} onClick={stopped(act)}>
      {children}
    </button>
  );
}
