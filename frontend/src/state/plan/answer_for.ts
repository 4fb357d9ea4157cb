// Keeps an answer of the server in step with what is asked: both the cost of each term and what the terms bring are fetched so.

import { effect, type ReadonlySignal, type Signal } from "@preact/signals";

/** Keep `answer` that of the last question; null while it is not known. A failure only leaves it out, and equal questions are asked once. */
export function keepAnswered<Question, Answer>(asked: ReadonlySignal<Question | null>, answer: Signal<Answer | null>, ask: (question: Question) => Promise<Answer>): void {
  let known = "";
  effect(() => {
    const wanted = asked.value;
    const key = JSON.stringify(wanted);
    if (!wanted || key === known) return;
    known = key;
    answer.value = null;
    void ask(wanted).then(
      (found) => {
        if (known === key) answer.value = found;
      },
      () => undefined,
    );
  });
}
