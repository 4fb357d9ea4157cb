// The tab "Totals": the totals of this plan, of the baselines and of other plans, predicted (the sum of the costs) and measured (the whole, end to end).

import type { JSX } from "preact";
import { duration, plural, plusMinus } from "../../base/format";
import { baselineMeaning, isAlone } from "../../data/plan/baselines";
import { MEANING } from "../../data/plan/basis";
import type { TotalRow } from "../../data/protocol";
import { totalsCsv } from "../../data/tables/csv";
import { hasEnded } from "../../data/run/ended";
import { saveText } from "../../state/download";
import { styleOf } from "../../state/model/catalogue";
import { isOtherPlan, keptRun, run, whatIf } from "../../state/run/run";
import { totals } from "../../state/tables/totals";
import { Badge } from "../widgets/badge";
import { Bar } from "../widgets/bar";
import { SaveMenu } from "../widgets/save_menu";
import { Shapes } from "./shapes";
import { TotalByTarget } from "./total_by_target";
import { Verification } from "./verification";
import { WorthSection } from "./worth";

export function TotalsTab(): JSX.Element {
  const current = run.value;
  if (!current?.plan) return <p class="muted">No plan yet.</p>;
  const known = totals.value?.run === current.id ? totals.value : null;
  return (
    <>
      <div class="table-bar">
        <TotalByTarget plan={current.plan} />
        <span class="spacer" />
        {known && (
          <SaveMenu what="the totals" formats={[{ name: "CSV", says: "Save the totals", save: () => saveText(`${current.model_name}-totals.csv`, "text/csv", totalsCsv(known, keptRun.value?.verify ?? null)) }]} />
        )}
      </div>
      {isOtherPlan.value && <p>{`The graph shows the plan of a what-if: against the kept one, ${whatIf.value?.change_text ?? ""}. The times below are of the kept plan.`}</p>}
      {known && known.decision !== "" && <p class="totals-decision">{`${known.decision.charAt(0).toUpperCase()}${known.decision.slice(1)}.`}</p>}
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
          {known?.rows.map((row) => (
            <Row key={row.name} row={row} widest={Math.max(...known.rows.map(longest))} />
          ))}
        </tbody>
      </table>
      {hasEnded(current) && <WorthSection run={current} />}
      <Shapes />
      <Verification run={current} />
    </>
  );
}

function longest({ time }: TotalRow): number {
  return Math.max(time.predicted_s ?? 0, time.measured_s ?? 0);
}

const NAMES: Readonly<Record<string, string>> = { search: "plan of the least predicted time" };

function Row({ row, widest }: { row: TotalRow; widest: number }): JSX.Element {
  const { name, kind, time, rounds, reason } = row;
  const isSingle = kind === "baseline" && isAlone(name);
  const colour = isSingle ? styleOf(name).base : kind === "plan" ? "var(--accent)" : "var(--grey)";
  const value = time.measured_s ?? time.predicted_s;
  return (
    <tr>
      <th scope="row">
        {isSingle && <Badge target={name} />} {NAMES[kind] ?? name}
        {kind === "baseline" && <span class="muted">{isSingle ? " alone" : ` ${baselineMeaning(name)}`}</span>}
      </th>
      <td>
        <Seconds value={time.predicted_s} intervalS={time.predicted_interval_s} />
      </td>
      <td title={rounds === 0 ? undefined : `timed in ${plural(rounds, "round")} beside the others`}>
        <Seconds value={time.measured_s} intervalS={time.interval_s} />
      </td>
      <td class="wide">{value === null || reason !== "" ? <span class="muted">{reason}</span> : <Bar share={widest > 0 ? value / widest : 0} colour={colour} />}</td>
      <td>{row.against}</td>
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
