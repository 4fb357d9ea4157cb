// A part of the page whose code is fetched when it is first shown: what is not needed at first does not delay the first paint.

import { signal } from "@preact/signals";
import type { ComponentType, JSX } from "preact";
import { during } from "../../base/idle";

/** The component that `load` brings; until then a line that says so. */
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
