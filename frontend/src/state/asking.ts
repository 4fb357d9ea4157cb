// A request that the user makes by a button and waits for: one at a time, with its error beside the button.

import { signal } from "@preact/signals";
import { asApiError } from "../data/api";
import type { ApiError } from "../data/protocol";

export class Asking {
  /** True while the answer is awaited. */
  readonly isBusy = signal(false);
  /** The error of the last request, or what the user must mend before it is made. */
  readonly error = signal<ApiError | null>(null);

  /** Make a request, and return its answer; null where it failed, or where another one is awaited: then it is not made. */
  async ask<Answer>(request: () => Promise<Answer>): Promise<Answer | null> {
    if (this.isBusy.peek()) return null;
    this.isBusy.value = true;
    this.error.value = null;
    try {
      return await request();
    } catch (error) {
      this.error.value = asApiError(error);
      return null;
    } finally {
      this.isBusy.value = false;
    }
  }
}
