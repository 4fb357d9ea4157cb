// A component whose code is loaded when it is first shown, so that it does not delay the first paint.

import { signal } from "@preact/signals";
import type { ComponentType, JSX } from "preact";
import { during } from "../../base/idle";

/** A component that shows what `load` resolves with, and a line of text until then. */
export function later(load: () => Promise<ComponentType>): () => JSX.Element {
  const found = signal<{ Part: ComponentType } | { error: string } | null>(null);
  let isAsked = false;
  return function Later(): JSX.Element {
    if (!isAsked) {
      isAsked = true;
      during("a part of the page", load()).then(
        (Part) => (found.value = { Part }),
        (error: unknown) => {
          isAsked = false;
          found.value = { error: String(error) };
        },
      );
    }
    const now = found.value;
    if (now === null) return <p class="muted">Loading…</p>;
    return "Part" in now ? <now.Part /> : <p role="alert">This part of the page could not be loaded ({now.error}). Reload the page.</p>;
  };
}
