// Deciding by a name pattern: open while there is one to begin with.

import { signal } from "@preact/signals";

/** The pattern that the dialog begins with; null while it is closed. */
export const pattern = signal<string | null>(null);
