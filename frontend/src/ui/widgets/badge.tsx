// The badge of a target: its letter on its colour.

import type { JSX } from "preact";
import { styleOf } from "../../state/model/catalogue";

/** The letter of a target on its colour. */
export function Badge({ target, isOff = false }: { target: string; isOff?: boolean }): JSX.Element {
  const { letter, strong } = styleOf(target);
  return (
    <span class={isOff ? "badge off" : "badge"} style={isOff ? undefined : { background: strong }} aria-hidden="true">
      {letter}
    </span>
  );
}
