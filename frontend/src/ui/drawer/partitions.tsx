// The tab "Partitions": the partitions of the plan, the most expensive first; a click selects one on the graph.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { duration, plural, plusMinus, signedDuration } from "../../base/format";
import { isReport } from "../../data/config";
import { UNCERTAIN } from "../../data/overlays/certainty";
import { approximately } from "../../data/plan/cost_source";
import { isPlaced } from "../../data/plan/locations";
import type { PlanInfo, PlanPartition } from "../../data/protocol";
import { partitionsCsv } from "../../data/tables/csv";
import { saveText } from "../../state/download";
import { styleOf } from "../../state/model/catalogue";
import { model } from "../../state/model/model";
import { lastChange } from "../../state/plan/decisions";
import { run } from "../../state/run/run";
import { goToPartition, point } from "../../state/selection/navigation";
import { selection } from "../../state/selection/selection";
import { inside, insideOf, isProfiling, profileError, profileRun, whyNoProfile } from "../../state/tables/inside";
import { Badge } from "../widgets/badge";
import { Bar } from "../widgets/bar";
import { ErrorCard } from "../widgets/error_card";
import { SaveMenu } from "../widgets/save_menu";
import { Placement } from "./placement";
import { TotalByTarget } from "./total_by_target";

/** Rows at first, and with each click on the button below them: hundreds at once would hold up the page's first frames. */
const [FIRST, MORE] = [50, 300];

export function PartitionsTab(): JSX.Element {
  const shown = useSignal(FIRST);
  const plan = run.value?.plan;
  if (!plan) return <p class="muted">No plan yet.</p>;
  const sorted = [...plan.partitions].sort((a, b) => (b.cost_s ?? -1) - (a.cost_s ?? -1));
  const hasStability = sorted.some((partition) => partition.stability !== null);
  return (
    <>
      <div class="table-bar">
        <TotalByTarget plan={plan} />
        <span class="spacer" />
        {!isReport && (
          <button type="button" disabled={isProfiling.value || whyNoProfile.value !== ""} title={whyNoProfile.value || "Run the artifact for about a second, and time each partition inside the whole"} onClick={() => void profileRun()}>
            {isProfiling.value ? "Timing…" : "Time inside the whole"}
          </button>
        )}
        <SaveMenu what="the partitions" formats={[{ name: "CSV", says: "Save the partitions, dearest first, and the transitions", save: () => savePartitions(sorted, plan) }]} />
      </div>
      {isPlaced(plan) && <Placement plan={plan} />}
      {profileError.value && <ErrorCard error={profileError.value} />}
      {inside.value && <p role="status">{`Timed together: ${duration(inside.value.whole_s)} for the whole, of which ${duration(inside.value.rest_s)} in no partition.`}</p>}
      <table class="partitions">
        <thead>
          <tr>
            <th scope="col">partition</th>
            <th scope="col">cost</th>
            <th scope="col" title={UNCERTAIN}>
              ±
            </th>
            {inside.value && (
              <th scope="col" title="Time inside the whole plan, and its difference from the cost; neighbours timed together share one time">
                inside
              </th>
            )}
            <th scope="col" class="wide">
              share of the predicted total
            </th>
            <th scope="col">samples</th>
            {hasStability && <th scope="col">stability</th>}
          </tr>
        </thead>
        <tbody>
          {sorted.slice(0, shown.value).map((partition) => (
            <Row key={partition.id} partition={partition} totalS={plan.total_s} hasStability={hasStability} />
          ))}
        </tbody>
      </table>
      {sorted.length > shown.value && (
        <button type="button" class="link" onClick={() => (shown.value += MORE)}>
          and {plural(sorted.length - shown.value, "cheaper partition")}
        </button>
      )}
    </>
  );
}

function savePartitions(sorted: readonly PlanPartition[], plan: PlanInfo): void {
  const opened = model.peek();
  if (opened) saveText(`${opened.info.name}-partitions.csv`, "text/csv", partitionsCsv(sorted, plan, opened.graph.nodes));
}

function Row({ partition, totalS, hasStability }: { partition: PlanPartition; totalS: number; hasStability: boolean }): JSX.Element {
  const { cost_s: costS, target, id } = partition;
  const isSelected = selection.value.kind === "partition" && selection.value.id === id;
  const share = costS === null || totalS <= 0 ? 0 : costS / totalS;
  return (
    <tr class={isSelected ? "selected" : undefined} onClick={() => goToPartition(partition)} onPointerEnter={() => point(partition.nodes)} onPointerLeave={() => point([])}>
      <th scope="row">
        <button type="button" class="row" aria-pressed={isSelected}>
          <Badge target={target} /> {labelOf(partition)} {partition.location && <span class="tag">{partition.location}</span>}
          {lastChange.value?.changed.has(id) && <span class="tag">changed</span>}
        </button>
      </th>
      <td>{costS === null ? "" : approximately(partition.source) + duration(costS)}</td>
      <td class="muted">{plusMinus(costS, partition.interval_s)}</td>
      {inside.value && <td>{insideText(id)}</td>}
      <td class="wide">
        <Bar share={share} colour={styleOf(target).base} /> {costS === null ? "" : `${(share * 100).toFixed(1)} %`}
      </td>
      <td>{partition.samples > 0 ? partition.samples : <span class="muted">{partition.source}</span>}</td>
      {hasStability && <td>{partition.stability === null ? "" : `${Math.round(partition.stability * 100)} %`}</td>}
    </tr>
  );
}

/** The time of a partition inside the whole, with its difference from what was predicted. */
function insideText(id: string): string {
  const row = insideOf.value.get(id);
  if (!row) return "";
  const together = row.partitions > 1 ? ` for ${row.partitions}` : "";
  return `${duration(row.seconds)}${together}${row.difference_s === null ? "" : ` (${signedDuration(row.difference_s)})`}`;
}

/** A partition in few words: its operators, and the name of its first node. */
function labelOf(partition: PlanPartition): string {
  const nodes = model.value?.graph.nodes;
  const ops = partition.nodes.map((node) => nodes?.[node]?.op ?? "");
  const shown = ops.length <= 4 ? ops.join(" + ") : `${ops.slice(0, 2).join(" + ")} + ${ops.length - 2} more`;
  return `${shown} · ${nodes?.[partition.nodes[0] ?? 0]?.name ?? ""}`;
}
