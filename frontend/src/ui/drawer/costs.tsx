// The tab "Costs": all candidates in one table, filtered, sorted, and saved as CSV; a row shows its nodes on the graph.

import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { count, signedDuration, duration, plusMinus } from "../../base/format";
import { UNCERTAIN, uncertainty } from "../../data/overlays/certainty";
import type { CostedRow, NewCost } from "../../data/protocol";
import { inexactReason, regretText } from "../../data/plan/why";
import { hasEnded } from "../../data/run/ended";
import { nodesIn, sizeOf } from "../../data/spans";
import { operatorsOf, type ColumnId } from "../../data/tables/candidate_rows";
import { styleOf } from "../../state/model/catalogue";
import { model } from "../../state/model/model";
import { isRegretOpen, regrets, wantRegret } from "../../state/plan/regrets";
import { cannotMeasure, measureAgain, remeasured, remeasuring, stopMeasuring } from "../../state/run/remeasuring";
import { run } from "../../state/run/run";
import { point } from "../../state/selection/navigation";
import { focused } from "../../state/selection/selection";
import { table } from "../../state/tables/candidates";
import { allRows, order, pickRow, rows, saveCosts, sortBy } from "../../state/tables/costs";
import { Badge } from "../widgets/badge";
import { ErrorCard } from "../widgets/error_card";
import { LongTable, type Column } from "../widgets/long_table";
import { RowButton } from "../widgets/row_button";
import { SaveMenu } from "../widgets/save_menu";
import { CostsFilter } from "./costs_filter";

export function CostsTab(): JSX.Element {
  const current = run.value;
  const state = table.value;
  if (!current) return <p class="muted">No run yet.</p>;
  if (!hasEnded(current)) return <NewCosts costs={current.new_costs} />;
  if (!current.plan) return <p class="muted">This run has no plan, so its candidates were not kept.</p>;
  if (state.kind === "failed") return <ErrorCard error={state.error} />;
  if (state.kind !== "ready") return <p class="muted">Loading the candidates…</p>;
  return (
    <div class="filling">
      <div class="table-bar">
        <CostsFilter />
        <span class="spacer" />
        <span class="muted" role="status">{`${count(rows.value.length)} of ${count(allRows.value.length)}`}</span>
        <SaveMenu what="the costs" formats={[{ name: "CSV", says: "Save these rows, in this order", save: saveCosts }]} />
      </div>
      <Remeasuring />
      {rows.value.length === 0 ? (
        <p class="muted">No candidate passes the filter.</p>
      ) : (
        <LongTable
          label="Candidates"
          columns={[...COLUMNS, ...(cannotMeasure.value === null ? [AGAIN] : []), ...(rows.value.some(hasReason) ? [REASON] : [])]}
          rows={rows.value}
          keyOf={(row) => row.id}
          isChosen={(row) => focused.value?.id === row.id}
          pick={pickRow}
          point={(row) => point(row ? nodesIn(row.spans) : [])}
          order={order.value}
          sortBy={sortBy}
        />
      )}
    </div>
  );
}

/** The newest costs while the run goes on. */
function NewCosts({ costs }: { costs: readonly NewCost[] }): JSX.Element {
  return (
    <>
      <p class="muted">{costs.length > 0 ? "The costs that got known last; all candidates are listed when the run ends." : "The run goes on; its costs are listed as they get known."}</p>
      {costs.length > 0 && (
        <table class="counts" aria-label="New costs">
          <tbody>
            {costs.map(({ target, label, seconds, interval_s, reason }, at) => (
              <tr key={costs.length - at}>
                <th scope="row">
                  <Badge target={target} /> {target}
                </th>
                <td class="wide">{label}</td>
                <td>{seconds === null ? "" : `${duration(seconds)} ${plusMinus(seconds, interval_s)}`}</td>
                <td class="wide">{reason}</td>
              </tr>
            ))}
          </tbody>
        </table>
      )}
    </>
  );
}

const COLUMNS: readonly Column<CostedRow, ColumnId>[] = [
  { id: "operators", title: "operators", cell: operatorsCell },
  { id: "target", title: "target", widthPx: 126, cell: targetCell },
  { id: "nodes", title: "nodes", widthPx: 64, isNumber: true, cell: (row) => count(sizeOf(row.spans)) },
  { id: "times", title: "times", widthPx: 62, isNumber: true, hint: "how often this computation is in the model; it is measured once", cell: (row) => (row.times > 1 ? `×${count(row.times)}` : "") },
  { id: "cost", title: "cost", widthPx: 84, isNumber: true, cell: (row) => (row.cost.seconds === null ? "" : duration(row.cost.seconds)) },
  { id: "spread", title: "± and spread", widthPx: 122, hint: `${UNCERTAIN} The bar is the samples' quartiles and the line that interval, on a scale to ±25 % of the cost`, cell: spreadCell },
  { id: "samples", title: "samples", widthPx: 76, isNumber: true, cell: (row) => (row.cost.samples > 0 ? count(row.cost.samples) : "") },
  { id: "source", title: "source", widthPx: 128, cell: sourceCell },
  { id: "regret", title: "regret", widthPx: 92, isNumber: true, hint: "how much slower the best plan with this candidate is", cell: (row) => <Regret row={row} /> },
];

/** The button to measure again; the column is shown only where candidates can be measured. */
const AGAIN: Column<CostedRow, ColumnId> = { id: "again", title: "", widthPx: 44, cell: (row, isReached) => <Again row={row} isReached={isReached} /> };

/** Why a candidate failed; the column is shown only where a row has a reason. */
const REASON: Column<CostedRow, ColumnId> = { id: "reason", title: "why not", widthPx: 300, cell: reasonCell };

function hasReason({ cost }: CostedRow): boolean {
  return cost.stage !== "" || cost.reason !== "";
}

function operatorsCell(row: CostedRow): JSX.Element {
  const nodes = model.value?.graph.nodes ?? [];
  const first = nodes[row.spans[0] ?? 0]?.name ?? "";
  return (
    <span class="cut" title={`${row.label}\n${row.rule}`}>
      {row.chosen && (
        <span class="good" role="img" aria-label="in the plan">
          ✓{" "}
        </span>
      )}
      {operatorsOf(row.spans, nodes)} <span class="muted">{first}</span>
    </span>
  );
}

function targetCell(row: CostedRow): JSX.Element {
  return (
    <>
      <Badge target={row.target} /> {row.target}
    </>
  );
}

const PLOT = { width: 56, height: 12, most: 0.25 };

/** The interval and the quartiles around the cost, on one scale for all rows; an arrow where the interval is wider. */
function spreadCell(row: CostedRow): JSX.Element | null {
  const { seconds, spread_s: spreadS } = row.cost;
  const share = uncertainty(seconds, row.cost);
  if (seconds === null || share === null) return null;
  const { width, height, most } = PLOT;
  const halfOf = (part: number): number => (Math.min(1, part / most) * (width - 4)) / 2;
  const [off, quartile] = [halfOf(share), halfOf((spreadS ?? 0) / seconds)];
  const middle = width / 2;
  return (
    <span class="spread">
      <svg width={width} height={height} aria-hidden="true">
        <rect x={middle - quartile} y={2} width={Math.max(1, 2 * quartile)} height={height - 4} rx={2} fill={styleOf(row.target).base} />
        <path d={`M${middle - off} ${height / 2}H${middle + off}M${middle} 1V${height - 1}`} />
      </svg>
      {`${share > most ? "▸ " : ""}${plusMinus(seconds, row.cost.interval_s)}`}
    </span>
  );
}

function sourceCell(row: CostedRow): JSX.Element {
  const { source, stopped_early: isEarly } = row.cost;
  const isKnown = source === "measured" || source === "recorded";
  return isKnown ? <span title={isEarly ? "stopped early, since it cannot win: the cost rests on the few samples there were" : undefined}>{isEarly ? `${source}, stopped early` : source}</span> : <i title={row.cost.reason}>{source}</i>;
}

/** The regret of a row. Those of a large model do not come with the plan, and are fetched for the rows in view. */
function Regret({ row }: { row: CostedRow }): JSX.Element {
  const late = regrets.value.get(row.id);
  const isOpen = isRegretOpen(row);
  useEffect(() => (isOpen && !late ? wantRegret(row.id) : undefined), [row.id, isOpen, late]);
  if (row.chosen) return <span title="In the plan">–</span>;
  if (row.in_no_plan || late?.in_no_plan) return <span class="muted">in no plan</span>;
  if (row.regret_s !== null) return <>{signedDuration(row.regret_s)}</>;
  if (late && late.regret_s !== null) return <>{regretText(late)}</>;
  if (late && late.regret_at_least_s !== null) return <span title={`not known exactly: ${inexactReason(late)}`}>{regretText(late)}</span>;
  return isOpen && !late ? <span class="muted" title="Computed for the rows in view">…</span> : <></>;
}

function reasonCell(row: CostedRow): JSX.Element | null {
  const { stage, reason } = row.cost;
  if (!hasReason(row)) return null;
  return (
    <span class="cut" title={reason}>
      <b>{stage}</b> {reason}
    </span>
  );
}

function Again({ row, isReached }: { row: CostedRow; isReached: boolean }): JSX.Element | null {
  if (row.cost.source === "host") return null;
  const says = row.cost.source === "measured" ? "Measure again" : "Measure";
  return (
    <RowButton says={says} hint={`${says}, and search on the new cost`} isReached={isReached} isOff={remeasuring.value !== null} act={() => void measureAgain(row)}>
      ↻
    </RowButton>
  );
}

/** The progress of measuring again, or its outcome. */
function Remeasuring(): JSX.Element | null {
  const now = remeasuring.value;
  if (now) {
    return (
      <p class="remeasuring" role="status">
        <progress aria-label="Measuring again" /> {`Measuring ${now.label} on ${now.target} again: ${now.phase}`}{" "}
        <button type="button" class="link" onClick={() => void stopMeasuring()}>
          Cancel
        </button>
      </p>
    );
  }
  return remeasured.value === "" ? null : <p role="status">{remeasured.value}</p>;
}
