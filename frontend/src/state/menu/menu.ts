// The context menu of the page, its items and position; and the dialog "Decide by name".

import { signal } from "@preact/signals";

export interface MenuItem {
  label: string;
  /** A note beside the label, such as a number. */
  note?: string;
  /** The keyboard shortcut for much the same. */
  key?: string;
  /** A target, whose badge is before the label. */
  target?: string;
  /** True if a line is above it. */
  hasSeparator?: boolean;
  /** The action of the item; an item with `items` opens these instead. */
  run?: () => void;
  items?: readonly MenuItem[];
}

export interface OpenMenu {
  /** The title: the subject of the menu. */
  label: string;
  /** The position on the page. */
  x: number;
  y: number;
  items: readonly MenuItem[];
}

export const menu = signal<OpenMenu | null>(null);

let before: Element | null = null;

/** Open a menu; the element that has the focus now gets it back when the menu closes. */
export function openMenu(next: OpenMenu): void {
  if (menu.peek() === null) before = document.activeElement;
  menu.value = next;
}

export function closeMenu(): void {
  menu.value = null;
  if (before instanceof HTMLElement || before instanceof SVGElement) before.focus({ preventScroll: true });
  before = null;
}

/** The name pattern with which the dialog "Decide by name" begins; null while it is closed. */
export const pattern = signal<string | null>(null);
