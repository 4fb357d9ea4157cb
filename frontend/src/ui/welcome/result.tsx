// The gain of the best plan of a model, in one line: the total of the fastest target alone, that of the plan, and the gain.

import type { JSX } from "preact";
import { changeInDuration, duration, speedUp } from "../../base/format";
import { bothText, MEANING } from "../../data/plan/basis";
import type { PlanResult } from "../../data/protocol";

const LEAST_GAIN = 1.005;

export function Result({ result }: { result: PlanResult }): JSX.Element {
  const { total_s: totalS, alone, alone_s: aloneS, is_measured: isMeasured } = result;
  const basis = isMeasured ? "measured" : "predicted";
  const time = <span class="muted">{basis}</span>;
  if (alone === null || aloneS === null) {
    return (
      <span title={`${basis}: ${MEANING[basis]}`}>
        {duration(totalS)} {time}
      </span>
    );
  }
  const isGain = aloneS / totalS >= LEAST_GAIN;
  return (
    <span class="card-result" title={`${alone} alone against the best plan; ${bothText(basis)}`}>
      {isGain ? (
        <>
          <b>{changeInDuration(aloneS, totalS)}</b> <span class="good">{speedUp(aloneS, totalS)}</span> {time}
        </>
      ) : (
        <>
          <b>{duration(totalS)}</b> {time} <span class="muted">· {alone} alone is best</span>
        </>
      )}
    </span>
  );
}
