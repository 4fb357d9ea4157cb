// The tab "Totals": the totals of this plan and of the baselines, as the sum of the costs and measured end to end.

import type { JSX } from "preact";
import { signedDuration, duration, plusMinus } from "../../base/format";
import type { Baseline, RunSnapshot } from "../../data/protocol";
import { totalsCsv } from "../../data/tables/csv";
import { saveText } from "../../state/download";
import { styleOf } from "../../state/model/catalogue";
import { run } from "../../state/run/run";
import { Badge } from "../widgets/badge";
import { Bar } from "../widgets/bar";
import { SaveMenu } from "../widgets/save_menu";
import { ExportContents } from "./export_contents";
import { TotalByTarget } from "./total_by_target";
import { Verification } from "./verification";

interface Line {
  name: string;
  sumS: number | null;
  intervalS: number | null;
  measuredS: number | null;
  reason: string;
  isPlan: boolean;
}

export function TotalsTab(): JSX.Element {
  const current = run.value;
  if (!current?.plan) return <p class="muted">No plan yet.</p>;
  const lines = linesOf(current);
  const widest = Math.max(...lines.map((line) => Math.max(line.sumS ?? 0, line.measuredS ?? 0)));
  return (
    <>
      <div class="table-bar">
        <TotalByTarget plan={current.plan} />
        <span class="spacer" />
        <SaveMenu what="the totals" formats={[{ name: "CSV", says: "Save the totals", save: () => saveText(`${current.model_name}-totals.csv`, "text/csv", totalsCsv(current)) }]} />
      </div>
      <table class="totals">
        <thead>
          <tr>
            <th scope="col">plan</th>
            <th scope="col">sum of its costs</th>
            <th scope="col">measured end to end</th>
            <td class="wide" />
            <th scope="col">against this plan</th>
          </tr>
        </thead>
        <tbody>
          {lines.map((line) => (
            <Row key={line.name} line={line} widest={widest} plan={lines[0]} />
          ))}
        </tbody>
      </table>
      <Verification run={current} />
      <ExportContents run={current} />
    </>
  );
}

function linesOf(current: RunSnapshot): Line[] {
  const plan: Line = { name: "this plan", sumS: current.plan?.total_s ?? null, intervalS: current.plan?.total_interval_s ?? null, measuredS: current.verify?.measured_s ?? null, reason: "", isPlan: true };
  const line = (one: Baseline): Line => ({ name: one.name, sumS: one.total_s, intervalS: null, measuredS: one.measured_s, reason: one.reason, isPlan: false });
  const others = current.baselines.map(line).sort((a, b) => (a.measuredS ?? a.sumS ?? Infinity) - (b.measuredS ?? b.sumS ?? Infinity));
  return [plan, ...others];
}

/** How much slower a line is than the plan: as measured end to end, where both were, else by the sums. */
function against(line: Line, plan: Line | undefined): string {
  if (!plan || line.isPlan) return "";
  const isMeasured = line.measuredS !== null && plan.measuredS !== null;
  const [own, base] = isMeasured ? [line.measuredS, plan.measuredS] : [line.sumS, plan.sumS];
  return own === null || base === null ? "" : signedDuration(own - base);
}

function Row({ line, widest, plan }: { line: Line; widest: number; plan: Line | undefined }): JSX.Element {
  const isSingle = !line.isPlan && line.name !== "greedy";
  const colour = isSingle ? styleOf(line.name).base : line.isPlan ? "var(--accent)" : "var(--grey)";
  const value = line.measuredS ?? line.sumS;
  return (
    <tr>
      <th scope="row">
        {isSingle && <Badge target={line.name} />} {line.name}
        {isSingle && <span class="muted"> alone</span>}
      </th>
      <td>
        {line.sumS === null ? "" : duration(line.sumS)} {line.intervalS !== null && <span class="muted">{plusMinus(line.sumS, line.intervalS)}</span>}
      </td>
      <td>{line.measuredS === null ? "" : duration(line.measuredS)}</td>
      <td class="wide">{value === null ? <span class="muted">{line.reason}</span> : <Bar share={widest > 0 ? value / widest : 0} colour={colour} />}</td>
      <td>{against(line, plan)}</td>
    </tr>
  );
}
