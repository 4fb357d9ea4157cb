// The verdict on the run, over the graph: the sentence that the terminal and the report print, too.

import type { JSX } from "preact";
import { hasEnded } from "../../data/run/ended";
import { run } from "../../state/run/run";

export function Verdict(): JSX.Element {
  const current = run.value;
  const verdict = current && hasEnded(current) && current.plan ? current.verdict : null;
  return <div role="status">{verdict && <p class={verdict.is_good ? "verdict good" : "verdict"}>{verdict.text}</p>}</div>;
}
