// The tab "Compare": the totals of two plans, then their regions or nodes; a row shows its nodes on the graph.

import { signal } from "@preact/signals";
import { createRef, type JSX } from "preact";
import { duration, plural } from "../../base/format";
import { isReport } from "../../data/config";
import type { Difference } from "../../data/overlays/difference";
import { MEANING } from "../../data/plan/basis";
import type { TwoTimes } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { comparedCsv } from "../../data/tables/csv";
import { isAllCompared, overlay } from "../../state/display";
import { saveText } from "../../state/download";
import { model } from "../../state/model/model";
import { againstRef, againstSide, comparisonError, planDifference, planRef, planSide, sideName, swapSides, type Side } from "../../state/plan/compare";
import { run } from "../../state/run/run";
import { PlanChoice } from "../graph/plan_choice";
import { Choice } from "../widgets/choice";
import { ErrorCard } from "../widgets/error_card";
import { SaveMenu } from "../widgets/save_menu";
import { ComparedNodes, ComparedRegions } from "./compared_rows";
import { OwnPlanForm, OwnPlanNote } from "./own_plan";

const grain = signal<"regions" | "nodes">("regions");
const isGiving = signal(false);
const giveButton = createRef<HTMLButtonElement>();

function stopGiving(): void {
  isGiving.value = false;
  giveButton.current?.focus();
}

export function CompareTab(): JSX.Element {
  const current = run.value;
  if (!current) return <p class="muted">No run yet.</p>;
  if (!hasEnded(current)) return <p class="muted">Plans can be compared when the run ends.</p>;
  return (
    <div class="filling">
      <div class="table-bar">
        <PlanChoice side="plan" />
        <button type="button" class="icon" aria-label="Exchange the two plans" title="Exchange the two plans" onClick={swapSides}>
          ⇄
        </button>
        <PlanChoice side="against" />
        <button type="button" aria-pressed={overlay.value === "difference"} onClick={() => (overlay.value = overlay.value === "difference" ? "target" : "difference")}>
          Show on the graph
        </button>
        {!isReport && (
          <button ref={giveButton} type="button" aria-expanded={isGiving.value} title="Compare with a plan of your own, or with a runtime's assignment" onClick={() => (isGiving.value = !isGiving.value)}>
            Your own…
          </button>
        )}
        <span class="spacer" />
        <Choice
          label="Compare by"
          choices={[
            { id: "regions", content: "Partitions", title: "The smallest sets of nodes that both plans partition, with their costs" },
            { id: "nodes", content: "Nodes", title: "Every node, with who runs it" },
          ]}
          chosen={grain.value}
          choose={(id) => (grain.value = id)}
        />
        <label>
          <input type="checkbox" checked={isAllCompared.value} onChange={(event) => (isAllCompared.value = event.currentTarget.checked)} /> show unchanged
        </label>
        {planDifference.value && <SaveMenu what="the comparison" formats={[{ name: "CSV", says: "Save every region of the two plans", save: saveCompared }]} />}
      </div>
      {isGiving.value ? <OwnPlanForm close={stopGiving} /> : <Body />}
    </div>
  );
}

function saveCompared(): void {
  const [opened, found] = [model.peek(), planDifference.peek()];
  if (opened && found) saveText(`${opened.info.name}-compared.csv`, "text/csv", comparedCsv(found, opened.graph.nodes));
}

function Body(): JSX.Element {
  const [plan, against, found] = [planSide.value, againstSide.value, planDifference.value];
  for (const side of [plan, against]) if (side.kind === "failed") return <ErrorCard error={side.error} />;
  if (plan.kind === "none" || against.kind === "none") return <p class="muted">Choose two plans: this one, a baseline, or another run of the model.</p>;
  if (comparisonError.value) return <ErrorCard error={comparisonError.value} />;
  if (plan.kind !== "ready" || against.kind !== "ready" || !found) return <p class="muted">Loading the plans…</p>;
  return (
    <>
      <OwnPlanNote />
      <Totals plan={plan.side} against={against.side} found={found} />
      {grain.value === "regions" ? <ComparedRegions found={found} /> : <ComparedNodes found={found} />}
    </>
  );
}

function line(name: string, { first_s, second_s, change }: TwoTimes): [string, string, string, string] {
  const text = (seconds: number | null): string => (seconds === null ? "not known" : duration(seconds));
  return [name, text(first_s), text(second_s), change];
}

function Totals({ plan, against, found }: { plan: Side; against: Side; found: Difference }): JSX.Element {
  const count = (side: Side): string => plural(side.plan.partitions.length, "partition");
  const lines = [line("predicted", found.predicted), line("of that, transitions", found.transitions)];
  if (found.measured) lines.push(line("measured", found.measured));
  return (
    <table class="compared" aria-label="Totals">
      <thead>
        <tr>
          <td />
          <th scope="col">
            {sideName(planRef.value, plan)} <span class="muted">{count(plan)}</span>
          </th>
          <th scope="col">
            {sideName(againstRef.value, against)} <span class="muted">{count(against)}</span>
          </th>
          <th scope="col">difference</th>
        </tr>
      </thead>
      <tbody>
        {lines.map(([name, ...cells]) => (
          <tr key={name}>
            <th scope="row" title={name === "predicted" || name === "measured" ? MEANING[name] : undefined}>
              {name}
            </th>
            {cells.map((cell, i) => (
              <td key={i}>{cell}</td>
            ))}
          </tr>
        ))}
      </tbody>
    </table>
  );
}
