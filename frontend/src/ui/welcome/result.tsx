// The best plan of a model in one line: its time, and the verdict on it.

import type { JSX } from "preact";
import { duration } from "../../base/format";
import { MEANING } from "../../data/plan/basis";
import type { PlanResult } from "../../data/protocol";

export function Result({ result }: { result: PlanResult }): JSX.Element {
  const { total_s: totalS, is_measured: isMeasured, text, is_good: isGood } = result;
  const basis = isMeasured ? "measured" : "predicted";
  return (
    <span class="card-result" title={`${basis}: ${MEANING[basis]}`}>
      <b>{duration(totalS)}</b> <span class="muted">{basis}</span> {text !== "" && <span class={isGood ? "good" : "muted"}>{text}</span>}
    </span>
  );
}
