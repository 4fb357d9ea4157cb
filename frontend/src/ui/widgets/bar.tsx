// A bar whose length is a share.

import type { JSX } from "preact";

/** A bar whose length is a share of the widest one. */
export function Bar({ share, colour }: { share: number; colour: string }): JSX.Element {
  return (
    <span class="bar" aria-hidden="true">
      <span style={{ width: `${Math.max(0.5, Math.min(100, share * 100))}%`, background: colour }} />
    </span>
  );
}
