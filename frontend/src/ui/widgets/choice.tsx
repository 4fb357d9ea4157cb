// One choice of a few, side by side: a group of radio buttons.

import type { ComponentChildren, JSX } from "preact";

interface ChoiceProps<T extends string> {
  label: string;
  choices: readonly { id: T; content: ComponentChildren; title?: string }[];
  chosen: T | null;
  choose: (id: T) => void;
}

/** The group; arrow keys choose the next one. */
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
      {choices.map(({ id, content, title }, i) => (
        <button
          key={id}
          type="button"
          role="radio"
          aria-checked={id === chosen}
          tabIndex={id === chosen || (chosen === null && i === 0) ? 0 : -1}
          title={title}
          onClick={() => choose(id)}
        >
          {content}
        </button>
      ))}
    </div>
  );
}
