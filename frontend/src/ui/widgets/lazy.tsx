// Parts of the page that come later, so that they do not delay the first paint: components whose code is loaded when they are first
// shown, and what waits for a frame.

import { signal } from "@preact/signals";
import type { ComponentType, JSX } from "preact";
import { useEffect, useState } from "preact/hooks";
import { during } from "../../base/idle";
import { nextFrame } from "../../base/long_work";

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

/** True if a frame was drawn since the component came onto the page: what that frame can do without waits for it. */
export function useIsDrawn(): boolean {
  const [isDrawn, setDrawn] = useState(false);
  useEffect(() => {
    let isHere = true;
    void nextFrame().then(() => {
      if (isHere) setDrawn(true);
    });
    return () => {
      isHere = false;
    };
  }, []);
  return isDrawn;
}
