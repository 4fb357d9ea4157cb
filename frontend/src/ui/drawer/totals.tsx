// The tab "Totals": the totals of this plan, of the baselines and of other plans, predicted (the sum of the costs) and measured (the whole, end to end).

import type { JSX } from "preact";
import { duration, plural, plusMinus, signedDuration } from "../../base/format";
import { baselineMeaning, isAlone } from "../../data/plan/baselines";
import { MEANING } from "../../data/plan/basis";
import { decisionText, totalLines, type TotalLine } from "../../data/plan/totals";
import { totalsCsv } from "../../data/tables/csv";
import { hasEnded } from "../../data/run/ended";
import { saveText } from "../../state/download";
import { styleOf } from "../../state/model/catalogue";
import { run } from "../../state/run/run";
import { Badge } from "../widgets/badge";
import { Bar } from "../widgets/bar";
import { SaveMenu } from "../widgets/save_menu";
import { ExportContents } from "./export_contents";
import { Shapes } from "./shapes";
import { TotalByTarget } from "./total_by_target";
import { Verification } from "./verification";
import { WorthSection } from "./worth";

export function TotalsTab(): JSX.Element {
  const current = run.value;
  if (!current?.plan) return <p class="muted">No plan yet.</p>;
  const lines = totalLines(current);
  const decision = decisionText(current);
  const widest = Math.max(...lines.map((line) => Math.max(line.sumS ?? 0, line.measuredS ?? 0)));
  return (
    <>
      <div class="table-bar">
        <TotalByTarget plan={current.plan} />
        <span class="spacer" />
        <SaveMenu what="the totals" formats={[{ name: "CSV", says: "Save the totals", save: () => saveText(`${current.model_name}-totals.csv`, "text/csv", totalsCsv(current)) }]} />
      </div>
      {decision !== "" && <p class="totals-decision">{decision}</p>}
      <table class="totals">
        <thead>
          <tr>
            <th scope="col">plan</th>
            <th scope="col" title={MEANING.predicted}>predicted</th>
            <th scope="col" title={MEANING.measured}>measured</th>
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
      {hasEnded(current) && <WorthSection run={current} />}
      <Shapes />
      <Verification run={current} />
      <ExportContents run={current} />
    </>
  );
}

/** How much slower a line is than the plan: as measured, where both were, else as predicted; which one is said. */
function against(line: TotalLine, plan: TotalLine | undefined): string {
  if (!plan || line.kind === "plan") return "";
  const isMeasured = line.measuredS !== null && plan.measuredS !== null;
  const [own, base] = isMeasured ? [line.measuredS, plan.measuredS] : [line.sumS, plan.sumS];
  return own === null || base === null ? "" : `${signedDuration(own - base)} ${isMeasured ? "measured" : "predicted"}`;
}

function Row({ line, widest, plan }: { line: TotalLine; widest: number; plan: TotalLine | undefined }): JSX.Element {
  const isPlan = line.kind === "plan";
  const isSingle = line.kind === "baseline" && isAlone(line.name);
  const colour = isSingle ? styleOf(line.name).base : isPlan ? "var(--accent)" : "var(--grey)";
  const value = line.measuredS ?? line.sumS;
  return (
    <tr>
      <th scope="row" title={line.kind === "baseline" ? baselineMeaning(line.name) : undefined}>
        {isSingle && <Badge target={line.name} />} {line.name}
        {isSingle && <span class="muted"> alone</span>}
      </th>
      <td>
        <Seconds value={line.sumS} intervalS={line.sumIntervalS} />
      </td>
      <td title={line.rounds === null ? undefined : `timed in ${plural(line.rounds, "round")} beside this plan`}>
        <Seconds value={line.measuredS} intervalS={line.measuredIntervalS} />
      </td>
      <td class="wide">{value === null || line.reason !== "" ? <span class="muted">{line.reason}</span> : <Bar share={widest > 0 ? value / widest : 0} colour={colour} />}</td>
      <td>{against(line, plan)}</td>
    </tr>
  );
}

function Seconds({ value, intervalS }: { value: number | null; intervalS: number | null }): JSX.Element | null {
  if (value === null) return null;
  return (
    <>
      {duration(value)} {intervalS !== null && <span class="muted">{plusMinus(value, intervalS)}</span>}
    </>
  );
}
