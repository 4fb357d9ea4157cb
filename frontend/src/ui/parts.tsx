// Small pieces that the whole page is made of: a target's badge, tabs, a popover, an error with its hint, a bar, a button that copies.

import { useSignal } from "@preact/signals";
import type { ComponentChildren, JSX } from "preact";
import { useEffect, useId, useRef } from "preact/hooks";
import type { ApiError, ToolchainInfo } from "../protocol";
import { look } from "../state/catalogue";
import { copyText } from "../state/download";

/** The letter of a target on its colour. */
export function Badge({ target, isOff = false }: { target: string; isOff?: boolean }): JSX.Element {
  const { letter, strong } = look(target);
  return (
    <span class={isOff ? "badge off" : "badge"} style={isOff ? undefined : { background: strong }} aria-hidden="true">
      {letter}
    </span>
  );
}

export interface TabItem<T extends string> {
  id: T;
  label: string;
  /** A number beside the label, such as how many rows there are. */
  note?: string;
}

interface TabsProps<T extends string> {
  label: string;
  tabs: readonly TabItem<T>[];
  chosen: T | null;
  /** Id of the element that shows the chosen tab. */
  controls: string;
  choose: (id: T) => void;
}

/** A row of tabs; arrow keys move between them. */
export function Tabs<T extends string>({ label, tabs, chosen, controls, choose }: TabsProps<T>): JSX.Element {
  const move = (event: KeyboardEvent): void => {
    const by = event.key === "ArrowRight" ? 1 : event.key === "ArrowLeft" ? -1 : 0;
    if (by === 0) return;
    event.preventDefault();
    event.stopPropagation();
    const buttons = [...(event.currentTarget as HTMLElement).querySelectorAll<HTMLElement>("[role=tab]")];
    const at = buttons.indexOf(document.activeElement as HTMLElement);
    buttons[(at + by + buttons.length) % buttons.length]?.focus();
  };
  return (
    <div class="tabs" role="tablist" aria-label={label} onKeyDown={move}>
      {tabs.map((tab, i) => (
        <button
          key={tab.id}
          type="button"
          role="tab"
          aria-selected={tab.id === chosen}
          aria-controls={controls}
          tabIndex={tab.id === chosen || (chosen === null && i === 0) ? 0 : -1}
          onClick={() => choose(tab.id)}
        >
          {tab.label}
          {tab.note !== undefined && <span class="note"> {tab.note}</span>}
        </button>
      ))}
    </div>
  );
}

interface ChoiceProps<T extends string> {
  label: string;
  choices: readonly { id: T; face: ComponentChildren; title?: string }[];
  chosen: T | null;
  choose: (id: T) => void;
}

/** One of a few, side by side; arrow keys choose the next one, as in any group of radio buttons. */
export function Choice<T extends string>({ label, choices, chosen, choose }: ChoiceProps<T>): JSX.Element {
  const key = (event: KeyboardEvent & { currentTarget: HTMLElement }): void => {
    const by = { ArrowRight: 1, ArrowDown: 1, ArrowLeft: -1, ArrowUp: -1 }[event.key];
    const at = choices.findIndex((one) => one.id === chosen);
    const next = by === undefined ? undefined : choices[(at + by + choices.length) % choices.length];
    if (!next) return;
    event.preventDefault();
    event.stopPropagation();
    choose(next.id);
    event.currentTarget.querySelectorAll<HTMLElement>("[role=radio]")[choices.indexOf(next)]?.focus();
  };
  return (
    <div class="segments" role="radiogroup" aria-label={label} onKeyDown={key}>
      {choices.map(({ id, face, title }, i) => (
        <button
          key={id}
          type="button"
          role="radio"
          aria-checked={id === chosen}
          tabIndex={id === chosen || (chosen === null && i === 0) ? 0 : -1}
          title={title}
          onClick={() => choose(id)}
        >
          {face}
        </button>
      ))}
    </div>
  );
}

interface PopoverProps {
  /** What the button shows. */
  face: ComponentChildren;
  label: string;
  class?: string;
  children: (close: () => void) => ComponentChildren;
}

/** A button that opens a small panel under it; Escape or a click elsewhere closes it and gives the focus back. */
export function Popover({ face, label, class: name, children }: PopoverProps): JSX.Element {
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
        {face}
      </button>
      {isOpen.value && (
        <div class="sheet" id={id} role="dialog" aria-label={label}>
          {children(close)}
        </div>
      )}
    </span>
  );
}

/** An error: what happened, what to do. */
export function ErrorCard({ error, children }: { error: ApiError; children?: ComponentChildren }): JSX.Element {
  return (
    <div class="error-card" role="alert">
      <p>{error.message}</p>
      {error.hint !== "" && <p class="hint">{error.hint}</p>}
      {children}
    </div>
  );
}

/** A bar whose length is a share of the widest one. */
export function Bar({ share, colour }: { share: number; colour: string }): JSX.Element {
  return (
    <span class="bar" aria-hidden="true">
      <span style={{ width: `${Math.max(0.5, Math.min(100, share * 100))}%`, background: colour }} />
    </span>
  );
}

/** Copies a text, and says whether that went well. */
export function CopyButton({ text, label }: { text: string; label: string }): JSX.Element {
  const said = useSignal("");
  const copy = async (): Promise<void> => {
    said.value = (await copyText(text)) ? "copied" : "could not be copied";
  };
  return (
    <>
      <button type="button" onClick={() => void copy()} aria-label={label}>
        Copy
      </button>
      <span class="muted" role="status">
        {said.value}
      </span>
    </>
  );
}

/** Why a toolchain cannot be used, and what mends that, to be copied. */
export function WhyNot({ toolchain: { name, reason, hint } }: { toolchain: ToolchainInfo }): JSX.Element {
  return (
    <div class="why-not">
      <p>{reason}</p>
      {hint !== "" && (
        <p class="mends">
          <code>{hint}</code>
          <CopyButton text={hint} label={`Copy what mends ${name}`} />
        </p>
      )}
    </div>
  );
}

/** A key of the keyboard. */
export function Key({ children }: { children: ComponentChildren }): JSX.Element {
  return <kbd>{children}</kbd>;
}
