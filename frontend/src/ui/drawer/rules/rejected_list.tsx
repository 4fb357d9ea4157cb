// The kept rejections of one rule with their reasons; a row shows its nodes on the graph.

import type { JSX } from "preact";
import { count } from "../../../base/format";
import type { RejectedRow, RuleTree } from "../../../data/protocol";
import { nodesIn } from "../../../data/spans";
import { operatorsOf } from "../../../data/tables/candidate_rows";
import { rejectedBy, rejectionsOf } from "../../../data/toolchains/rule_tree";
import { listedRule } from "../../../state/display";
import { model } from "../../../state/model/model";
import { point, showNodes } from "../../../state/selection/navigation";
import { table } from "../../../state/tables/candidates";
import { ErrorCard } from "../../widgets/error_card";

const SHOWN = 200;

export function RejectedList({ target, rule }: { target: string; rule: RuleTree }): JSX.Element {
  const state = table.value;
  const rows = state.kind === "ready" ? rejectionsOf(state.data.rejections, target, rule) : [];
  return (
    <section class="rejected-list" aria-label={`Rejected by ${rule.rule}`}>
      <div class="table-bar">
        <h2>{`Rejected by ${rule.rule}`}</h2>
        <span class="muted">{state.kind === "ready" && `${count(Math.min(rows.length, SHOWN))} of ${count(Math.max(rejectedBy(rule), rows.length))}`}</span>
        <span class="spacer" />
        <button type="button" class="icon" aria-label="Close the list" title="Close the list" onClick={() => (listedRule.value = null)}>
          ✕
        </button>
      </div>
      {state.kind === "failed" && <ErrorCard error={state.error} />}
      {state.kind === "loading" && <p class="muted">Loading…</p>}
      <ul>
        {rows.slice(0, SHOWN).map((row, i) => (
          <Rejected key={i} row={row} />
        ))}
      </ul>
    </section>
  );
}

function Rejected({ row }: { row: RejectedRow }): JSX.Element {
  const nodes = model.value?.graph.nodes ?? [];
  const inside = nodesIn(row.spans);
  return (
    <li onPointerEnter={() => point(inside)} onPointerLeave={() => point([])}>
      <button type="button" class="link" onClick={() => showNodes(inside)}>
        {operatorsOf(row.spans, nodes)} <span class="muted">{nodes[row.spans[0] ?? 0]?.name}</span>
      </button>
      <span class="rejection">
        <b>{row.stage}</b> {row.reason}
      </span>
    </li>
  );
}
