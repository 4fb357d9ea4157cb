// The choice of a plan to compare: the shown one, the one before, a baseline, one of the user's own, or another run of the model.

import type { JSX } from "preact";
import { baselineName } from "../../data/plan/baselines";
import { timeText } from "../../data/plan/basis";
import type { RunSnapshot, RunSummary } from "../../data/protocol";
import { againstRef, BASELINE, compare, givenAgainst, planRef, runName } from "../../state/plan/compare";
import { runBefore } from "../../state/plan/decisions";
import { OWN, ownPlans } from "../../state/plan/own_plan";
import { isOtherPlan, run } from "../../state/run/run";
import { plannedRuns } from "../../state/run/runs";

export function PlanChoice({ side }: { side: "plan" | "against" }): JSX.Element {
  const current = run.value;
  const ref = side === "plan" ? planRef.value : againstRef.value;
  const chosen = ref === current?.id && !isOtherPlan.value ? "" : ref;
  const choose = (ref: string): void => (side === "plan" ? compare(ref, givenAgainst.value ?? againstRef.value) : compare(planRef.value, ref));
  const near = nearPlans();
  const others = plannedRuns.value.filter((one) => one.id !== current?.id && !near.some((plan) => plan.ref === one.id));
  const isListed = chosen.startsWith(BASELINE) || chosen.startsWith(OWN) || [...near.map((plan) => plan.ref), ...others.map((one) => one.id)].includes(chosen);
  return (
    <select aria-label={side === "plan" ? "Plan" : "Compared with"} value={chosen} onChange={(event) => choose(event.currentTarget.value)}>
      {near.map((plan) => (
        <option key={plan.ref} value={plan.ref}>
          {plan.name}
        </option>
      ))}
      {!isListed && <option value={chosen}>another run</option>}
      {current && <Baselines run={current} />}
      {ownPlans.value.length > 0 && <OwnPlans />}
      {others.length > 0 && <OtherRuns runs={others} />}
    </select>
  );
}

/** The shown plan, the kept plan beside a what-if, and the plan before. */
function nearPlans(): { ref: string; name: string }[] {
  const before = runBefore.value?.plan ? [{ ref: runBefore.value.id, name: "the plan before" }] : [];
  const kept = isOtherPlan.value && run.value ? [{ ref: run.value.id, name: "the kept plan" }] : [];
  return [{ ref: "", name: kept.length > 0 ? "what if" : "this plan" }, ...kept, ...before];
}

function Baselines({ run: { baselines } }: { run: RunSnapshot }): JSX.Element {
  return (
    <optgroup label="Baselines">
      {baselines.map((one) => (
        <option key={one.name} value={BASELINE + one.name} disabled={one.total_s === null}>
          {one.total_s === null ? `${baselineName(one.name)}: ${one.reason || "no plan"}` : `${baselineName(one.name)}, ${timeText("predicted", one.total_s)}`}
        </option>
      ))}
    </optgroup>
  );
}

function OwnPlans(): JSX.Element {
  return (
    <optgroup label="Your own">
      {ownPlans.value.map(({ ref, answer }) => (
        <option key={ref} value={ref}>
          {`${answer.name}, ${timeText("predicted", answer.plan.total_s)}`}
        </option>
      ))}
    </optgroup>
  );
}

function OtherRuns({ runs }: { runs: readonly RunSummary[] }): JSX.Element {
  return (
    <optgroup label="Runs of this model">
      {runs.map((one) => (
        <option key={one.id} value={one.id}>
          {`${runName(one)}${one.total_s === null ? "" : `, ${timeText("predicted", one.total_s)}`}`}
        </option>
      ))}
    </optgroup>
  );
}
