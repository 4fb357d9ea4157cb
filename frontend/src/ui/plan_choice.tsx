// A plan to compare: the shown one, the one before, a baseline, or another run of the model.

import type { JSX } from "preact";
import { duration } from "../format";
import { againstRef, BASELINE, baselineName, compare, givenAgainst, planRef, runName } from "../state/compare";
import { runBefore } from "../state/decisions";
import { run } from "../state/run";
import { plannedRuns } from "../state/runs";

export function PlanChoice({ side }: { side: "plan" | "against" }): JSX.Element {
  const ref = side === "plan" ? planRef.value : againstRef.value;
  const chosen = ref === run.value?.id ? "" : ref;
  const choose = (ref: string): void => (side === "plan" ? compare(ref, givenAgainst.value ?? againstRef.value) : compare(planRef.value, ref));
  const current = run.value;
  const before = runBefore.value?.plan ? runBefore.value : null;
  const others = plannedRuns.value.filter((one) => one.id !== current?.id && one.id !== before?.id);
  const isListed = chosen === "" || chosen.startsWith(BASELINE) || chosen === before?.id || others.some((one) => one.id === chosen);
  return (
    <select aria-label={side === "plan" ? "Plan" : "Compared with"} value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
      <option value="">this plan</option>
      {before && <option value={before.id}>the plan before</option>}
      {!isListed && <option value={chosen}>another run</option>}
      <optgroup label="Baselines">
        {(current?.baselines ?? []).map((one) => (
          <option key={one.name} value={BASELINE + one.name} disabled={one.total_s === null}>
            {one.total_s === null ? `${baselineName(one.name)}: ${one.reason || "no plan"}` : `${baselineName(one.name)}, ${duration(one.total_s)}`}
          </option>
        ))}
      </optgroup>
      {others.length > 0 && (
        <optgroup label="Runs of this model">
          {others.map((one) => (
            <option key={one.id} value={one.id}>
              {`${runName(one)}${one.total_s === null ? "" : `, ${duration(one.total_s)}`}`}
            </option>
          ))}
        </optgroup>
      )}
    </select>
  );
}
