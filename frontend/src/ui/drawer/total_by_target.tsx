// The total of a plan by target: one bar, and beside it each target with its seconds and share.

import type { JSX } from "preact";
import { duration, percent } from "../../base/format";
import { MEANING } from "../../data/plan/basis";
import { shares } from "../../data/plan/summary";
import type { PlanInfo } from "../../data/protocol";
import { styleOf } from "../../state/model/catalogue";
import { Badge } from "../widgets/badge";

const TRANSITION = "transition";

export function TotalByTarget({ plan }: { plan: PlanInfo }): JSX.Element {
  const moves = plan.copies?.length ? "transitions and copies" : "transitions";
  const unknown = plan.partitions.filter((partition) => partition.cost_s === null).length;
  const all = shares(plan).filter((share) => share.seconds > 0);
  const sum = all.reduce((seconds, share) => seconds + share.seconds, 0);
  return (
    <div class="by-target" role="group" aria-label="Predicted total by target" title={`predicted: ${MEANING.predicted}`}>
      <span class="muted">predicted</span>
      <span class="total-bar" aria-hidden="true">
        {all.map((share) => (
          <span key={share.name} style={{ flexGrow: share.seconds / sum, background: share.name === TRANSITION ? "var(--grey)" : styleOf(share.name).base }} />
        ))}
      </span>
      {all.map((share) => (
        <span key={share.name}>
          {share.name === TRANSITION ? moves : <><Badge target={share.name} /> {share.name}</>} {duration(share.seconds)} {unknown === 0 && <span class="muted">{percent(share.seconds / sum)}</span>}
        </span>
      ))}
      {unknown > 0 && <span class="muted">{`and ${unknown} whose cost is not known`}</span>}
    </div>
  );
}
