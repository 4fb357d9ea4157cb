// What the user set for this browser; kept in its local storage where there is one.

import { effect, signal } from "@preact/signals";

const KEYS = "collage.single-keys";

/** Single keys do something: they can be switched off for those whose speech or hands press them unmeant. */
export const areKeysOn = signal(read(KEYS) !== "off");

/** Remember what is set. */
export function watchSettings(): void {
  effect(() => write(KEYS, areKeysOn.value ? null : "off"));
}

function read(key: string): string | null {
  try {
    return localStorage.getItem(key);
  } catch {
    return null;
  }
}

function write(key: string, value: string | null): void {
  try {
    if (value === null) localStorage.removeItem(key);
    else localStorage.setItem(key, value);
  } catch {
    // A browser that keeps nothing: the setting holds until the page is closed.
  }
}
