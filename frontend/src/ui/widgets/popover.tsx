// A button that opens a small panel under it.

import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useLayoutEffect, useRef } from "preact/hooks";

interface PopoverProps {
  /** The content of the button. */
  content: ComponentChildren;
  label: string;
  class?: string;
  children: (close: () => void) => ComponentChildren;
}

/** The distance that a panel keeps from the sides of the window. */
const ASIDE = 8;

/** Move a panel sideways into the window, whose button may stand close to a side. */
function keepInside(sheet: HTMLElement): void {
  const { left, right } = sheet.getBoundingClientRect();
  const over = right - document.documentElement.clientWidth + ASIDE;
  if (over > 0) sheet.style.translate = `${-Math.min(over, Math.max(0, left - ASIDE))}px`;
  else if (left < ASIDE) sheet.style.translate = `${ASIDE - left}px`;
}

/** A button that opens a small panel under it; Escape or a click elsewhere closes it and gives the focus back. */
export function Popover({ content, label, class: name, children }: PopoverProps): JSX.Element {
  const isOpen = useSignal(false);
  const root = useRef<HTMLSpanElement>(null);
  const sheet = useRef<HTMLDivElement>(null);
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
  useLayoutEffect(() => {
    if (!sheet.current) return;
    const observer = new ResizeObserver(() => {
      if (!sheet.current) return;
      sheet.current.style.translate = "";
      keepInside(sheet.current);
    });
    observer.observe(sheet.current);
    return () => observer.disconnect();
  }, [isOpen.value]);
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
        <div class="sheet" ref={sheet} id={id} role="dialog" aria-label={label}>
          {children(close)}
        </div>
      )}
    </span>
  );
}
