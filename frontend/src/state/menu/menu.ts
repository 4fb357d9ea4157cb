// The one context menu of the page: what it offers and where it stands.

import { signal } from "@preact/signals";

export interface MenuItem {
  label: string;
  /** Beside the label, such as how many there are. */
  note?: string;
  /** The key that does much the same. */
  key?: string;
  /** A target whose badge stands before the label. */
  target?: string;
  /** A line is drawn above it. */
  hasSeparator?: boolean;
  /** What it does; an item with `items` opens these instead. */
  run?: () => void;
  items?: readonly MenuItem[];
}

export interface OpenMenu {
  /** What it is about. */
  label: string;
  /** Where, on the page. */
  x: number;
  y: number;
  items: readonly MenuItem[];
}

export const menu = signal<OpenMenu | null>(null);

let before: Element | null = null;

/** Open a menu; what has the focus now gets it back. */
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
