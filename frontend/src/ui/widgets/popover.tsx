// A button that opens a small panel under it.

import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";

interface PopoverProps {
  /** The content of the button. */
  content: ComponentChildren;
  label: string;
  class?: string;
  children: (close: () => void) => ComponentChildren;
}

/** A button that opens a small panel under it; Escape or a click elsewhere closes it and gives the focus back. */
export function Popover({ content, label, class: name, children }: PopoverProps): JSX.Element {
  const isOpen = useSignal(false);
  const root = useRef<HTMLSpanElement>(null);
  const id = useId();
  const close = (): void => {
    isOpen.value = false;
    root.current?.querySelector("button")?.focus();
  };
  useEffect(() => {
    const outside = (event: PointerEvent): void => {
      if (!root.current?.contains(event.target as Node)) isOpen.value = false;
    };
    document.addEventListener("pointerdown", outside);
    return () => document.removeEventListener("pointerdown", outside);
  }, [isOpen]);
  const escape = (event: KeyboardEvent): void => {
    if (event.key !== "Escape" || !isOpen.value) return;
    event.stopPropagation();
    close();
  };
  return (
    <span class="popover" ref={root} onKeyDown={escape}>
      <button type="button" class={name} aria-expanded={isOpen.value} aria-controls={id} aria-haspopup="dialog" onClick={() => (isOpen.value = !isOpen.value)}>
        {content}
      </button>
      {isOpen.value && (
        <div class="sheet" id={id} role="dialog" aria-label={label}>
          {children(close)}
        </div>
      )}
    </span>
  );
}
