// A key of the keyboard, as the help and the buttons show it.

import type { ComponentChildren, JSX } from "preact";

/** A key of the keyboard. */
export function Key({ children }: { children: ComponentChildren }): JSX.Element {
  return <kbd>{children}</kbd>;
}
