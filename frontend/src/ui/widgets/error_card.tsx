// An error of the server or the page, with its hint.

import type { ComponentChildren, JSX } from "preact";
import type { ApiError } from "../../data/protocol";

/** The card: the message, the hint, and buttons as children. */
export function ErrorCard({ error, children }: { error: ApiError; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="error-card" role="alert">
      <p>{error.message}</p>
      {error.hint !== "" && <p class="hint">{error.hint}</p>}
      {children}
    </div>
  );
}
