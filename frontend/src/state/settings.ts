// The user's settings for this browser, kept in its local storage where it has one.

import { effect, signal } from "@preact/signals";
import type { Columns } from "../graph/layout/wrap";

const KEYS = "collage.single-keys";
const COLUMNS = "collage.columns";

/** True if single-key shortcuts work. Users whose speech input or hands trigger them by accident can switch them off. */
export const areKeysOn = signal(read(KEYS) !== "off");

/** The wish for columns, which the page remembers. */
export const columns = signal<Columns>(columnsOf(read(COLUMNS)));

function columnsOf(text: string | null): Columns {
  return text === "on" || text === "off" ? text : "auto";
}

/** Keep the settings in the storage. */
export function watchSettings(): void {
  effect(() => write(COLUMNS, columns.value === "auto" ? null : columns.value));
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
    // Without storage the setting holds until the page is closed.
  }
}
