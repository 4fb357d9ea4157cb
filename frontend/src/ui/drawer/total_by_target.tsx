// Where the total of a plan goes: one bar, and beside it each target with its seconds and share.

import type { JSX } from "preact";
import { duration, percent } from "../../base/format";
import { shares } from "../../data/plan/summary";
import type { PlanInfo } from "../../data/protocol";
import { look } from "../../state/model/catalogue";
import { Badge } from "../widgets/badge";

const MOVES = "transition";

export function TotalByTarget({ plan }: { plan: PlanInfo }): JSX.Element {
  const unknown = plan.partitions.filter((partition) => partition.cost_s === null).length;
  const parts = shares(plan).filter((part) => part.seconds > 0);
  const sum = parts.reduce((all, part) => all + part.seconds, 0);
  return (
    <div class="by-target" role="group" aria-label="Total by target">
      <span class="total-bar" aria-hidden="true">
        {parts.map((part) => (
          <span key={part.name} style={{ flexGrow: part.seconds / sum, background: part.name === MOVES ? "var(--grey)" : look(part.name).base }} />
        ))}
      </span>
      {parts.map((part) => (
        <span key={part.name}>
          {part.name === MOVES ? "handing over" : <><Badge target={part.name} /> {part.name}</>} {duration(part.seconds)} <span class="muted">{percent(part.seconds / sum)}</span>
        </span>
      ))}
      {unknown > 0 && <span class="muted">{`and ${unknown} whose cost is not known`}</span>}
    </div>
  );
}
