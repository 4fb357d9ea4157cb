// A titled list of facts in the panel.

import type { ComponentChildren, JSX } from "preact";

/** A titled list; nothing where it is empty. */
export function Section({ title, children }: { title: string; children: ComponentChildren }): JSX.Element | null {
  const isEmpty = !children || (Array.isArray(children) && children.flat().every((one) => !one));
  return isEmpty ? null : (
    <section class="facts">
      <h3>{title}</h3>
      <dl>{children}</dl>
    </section>
  );
}

export function Line({ name, title, children }: { name: string; title?: string; children: ComponentChildren }): JSX.Element {
  return (
    <div>
      <dt title={title}>{name}</dt>
      <dd>{children}</dd>
    </div>
  );
}
