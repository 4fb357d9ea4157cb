// A row of tabs, as WAI-ARIA describes them.

import type { JSX } from "preact";

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
