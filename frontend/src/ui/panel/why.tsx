// The tab "Why": for the selected node or partition, all candidates of all targets, with their costs or the reasons why they failed.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useRef } from "preact/hooks";
import { duration, plural, plusMinus } from "../../base/format";
import { isReport } from "../../data/config";
import { timeText } from "../../data/plan/basis";
import { approximately, sourceLabel } from "../../data/plan/cost_source";
import { estimateTexts, type EstimateText as Said } from "../../data/plan/estimate_text";
import { byTarget, inexactReason, regretText, whyText, type TargetGroup } from "../../data/plan/why";
import type { NodeCandidate, NodeCandidates } from "../../data/protocol";
import { hasEnded } from "../../data/run/ended";
import { showDrawer } from "../../state/display";
import { overlayText, saysMore } from "../../state/graph/aria_text";
import { openSelectionMenu } from "../../state/menu/decide_menu";
import { styleOf } from "../../state/model/catalogue";
import { model } from "../../state/model/model";
import { candidates, triedCandidates } from "../../state/plan/candidates";
import { cut, isDeciding, pin, pinCandidate, veto, vetoThisCandidate } from "../../state/plan/decisions";
import { tryOut } from "../../state/plan/try_out";
import { isOtherPlan, partitionOf, run } from "../../state/run/run";
import { point } from "../../state/selection/navigation";
import { selectedPartition } from "../../state/selection/selected";
import { focused, selection } from "../../state/selection/selection";
import { Badge } from "../widgets/badge";
import { Bar } from "../widgets/bar";
import { ErrorCard } from "../widgets/error_card";
import { Key } from "../widgets/key";
import { Bodies } from "./bodies";
import { NodeTime } from "./node_time";
import { SelectionTitle } from "./selection_title";
import { TypedCostField } from "./typed_cost";

export function WhyPanel(): JSX.Element {
  if (selection.value.kind === "none") return <Advice />;
  return (
    <>
      <SelectionTitle />
      <OverlayText />
      <Answer />
    </>
  );
}

/** The overlay's text about the selected node, unless it is elsewhere in the panel. */
function OverlayText(): JSX.Element | null {
  const chosen = selection.value;
  if (chosen.kind !== "box" || !saysMore()) return null;
  const words = overlayText(chosen.box);
  return words === "" ? null : <p class="overlay-says">{words}.</p>;
}

function Advice(): JSX.Element {
  const hasPlan = run.value?.plan !== null && run.value !== null;
  return (
    <div class="advice">
      {hasPlan ? (
        <p>
          Select a node or a partition to see every way to run it, and why this one was chosen; shift and drag selects several{isReport ? "" : ", right-click decides"}. <Key>/</Key> finds, arrows walk the edges, <Key>?</Key> lists all keys.
        </p>
      ) : (
        <p>
          This is the model's graph. Choose targets above and press <b>Run</b>: each part is measured on each of them, and the fastest way to cover the whole model is found.
        </p>
      )}
    </div>
  );
}

function Answer(): JSX.Element | null {
  const state = candidates.value;
  if (selection.value.kind === "boxes") return <Several />;
  if (!run.value) return <p class="muted">No run yet: this node was not measured.</p>;
  if (!hasEnded(run.value)) {
    return (
      <p class="muted">
        Every candidate that holds it is listed here when the run ends. Until then{" "}
        <button type="button" class="link" onClick={() => showDrawer("costs")}>
          Costs
        </button>{" "}
        lists each cost of the model as it comes.
      </p>
    );
  }
  if (state.kind === "loading") return <p class="muted">Loading the candidates…</p>;
  if (state.kind === "failed") return <ErrorCard error={state.error} />;
  if (state.kind === "none") return null;
  const chosen = selection.value;
  const partition = chosen.kind === "partition" ? selectedPartition.value : undefined;
  const groups = byTarget(state.data, partition?.nodes);
  const widest = Math.max(0, ...groups.flatMap((group) => group.candidates.slice(0, FEW).map((one) => one.regret_at_least_s ?? 0)));
  return (
    <>
      {isOtherPlan.value && <p class="muted">Marks and regrets refer to the kept plan.</p>}
      {whyText(state.data).map((line) => (
        <p key={line}>{line}.</p>
      ))}
      <NodeTime />
      <Bodies />
      <EstimateSections data={state.data} />
      <Buttons />
      <TypedCostField />
      {groups.map((group) => (
        <Group key={group.target} group={group} widest={widest} />
      ))}
      {groups.length === 0 && <p class="muted">No target has a candidate for it.</p>}
    </>
  );
}

/** The estimate texts of the described toolchains: the tried one, and those of the plan. */
function EstimateSections({ data }: { data: NodeCandidates }): JSX.Element {
  const tried = tryOut.value;
  const state = triedCandidates.value;
  return (
    <>
      {tried && state.kind === "ready" && estimateTexts(state.data, [tried.name]).map((one) => <EstimateSection key={one.target} said={one} note="tried, not kept" />)}
      {tried && state.kind === "failed" && <ErrorCard error={state.error} />}
      {estimateTexts(data, run.value?.described ?? []).map((one) => (
        <EstimateSection key={one.target} said={one} note="only described" />
      ))}
    </>
  );
}

function EstimateSection({ said: { target, lines }, note }: { said: Said; note: string }): JSX.Element | null {
  if (lines.length === 0) return null;
  return (
    <section class="estimate-text" aria-label={`Gain with ${target} here`}>
      <h3>
        <Badge target={target} /> {target} <span class="muted">{note}</span>
      </h3>
      {lines.map((line) => (
        <p key={line}>{line}</p>
      ))}
    </section>
  );
}

/** The buttons for several nodes. */
function Several(): JSX.Element {
  if (isReport) return <p class="muted">Select one node to see its candidates.</p>;
  return (
    <>
      <Buttons />
      <p class="muted">
        <Key>p</Key> pins each to the target that it is on, <Key>v</Key> vetoes that target there. Select one node to see its candidates.
      </p>
    </>
  );
}

/** The buttons that decide for the selection, or for the candidate in focus. */
function Buttons(): JSX.Element | null {
  const candidate = focused.value;
  const chosen = selection.value;
  const target = candidate?.target ?? (chosen.kind === "box" ? partitionOf.value.get(chosen.box)?.target : undefined);
  const what = candidate ? `this ${candidate.label}` : SELECTION_NAME[chosen.kind];
  const button = useRef<HTMLButtonElement>(null);
  const more = (): void => {
    const rect = button.current?.getBoundingClientRect();
    openSelectionMenu(rect && { x: rect.left, y: rect.bottom + 4 });
  };
  if (isReport) return null;
  return (
    <div class="buttons">
      <button type="button" disabled={isDeciding.value} onClick={pin} title={`Pin ${what}${target ? ` to ${target}` : ""}`}>
        Pin <Key>p</Key>
      </button>
      <button type="button" disabled={isDeciding.value} onClick={veto} title={`Veto ${target ?? "its target"} for ${what}`}>
        Veto <Key>v</Key>
      </button>
      <button type="button" disabled={isDeciding.value} onClick={cut} title={chosen.kind === "boxes" ? "Cut between two neighbours, or all around these nodes" : `Cut ${what} from its neighbours`}>
        Cut <Key>x</Key>
      </button>
      <button ref={button} type="button" aria-haspopup="menu" disabled={isDeciding.value} onClick={more} title="Everything that can be decided for it (right-click, or the Menu key)">
        More…
      </button>
    </div>
  );
}

const SELECTION_NAME = { none: "nothing", box: "this node", boxes: "these nodes", partition: "this partition" };

const FEW = 4;

function Group({ group, widest }: { group: TargetGroup; widest: number }): JSX.Element {
  const isLong = useSignal(false);
  const { target, candidates: all, rejections } = group;
  const shown = isLong.value ? all : all.slice(0, FEW);
  return (
    <section class="target-group">
      <h3>
        <Badge target={target} /> {target} {all.length > 0 && <span class="muted">{plural(all.length, "candidate")}</span>}
      </h3>
      <ul>
        {shown.map((candidate) => (
          <Row key={candidate.id} candidate={candidate} widest={widest} />
        ))}
      </ul>
      {all.length > FEW && (
        <button type="button" class="link" onClick={() => (isLong.value = !isLong.value)}>
          {isLong.value ? "fewer" : `${all.length - FEW} more`}
        </button>
      )}
      {rejections.slice(0, isLong.value ? undefined : FEW).map((one) => (
        <p key={`${one.stage}${one.reason}`} class="rejection">
          <b>{one.stage}</b> {one.reason}
          {one.count > 1 && <span class="muted"> ({one.count}×)</span>}
        </p>
      ))}
    </section>
  );
}

function Row({ candidate, widest }: { candidate: NodeCandidate; widest: number }): JSX.Element {
  const isFocused = focused.value?.id === candidate.id;
  const { cost } = candidate;
  const names = candidate.nodes.map((node) => model.value?.graph.nodes[node]?.name ?? String(node)).join(", ");
  return (
    <li class={candidate.chosen ? "candidate chosen" : "candidate"} onPointerEnter={() => point(candidate.nodes)} onPointerLeave={() => point([])}>
      <button type="button" class="row" aria-pressed={isFocused} title={[candidate.label, names, candidate.rule, totalText(candidate)].filter(Boolean).join("\n")} onClick={() => (focused.value = isFocused ? null : candidate)}>
        <span class="label">
          {candidate.chosen && <span class="good" aria-label="chosen">✓ </span>}
          {labelOf(candidate)}
          {candidate.times > 1 && <span class="muted" title={`This computation is in the model ${candidate.times} times; it is measured once`}> ×{candidate.times}</span>}
        </span>
        <span class="regret">{candidate.chosen ? "–" : regretText(candidate)}</span>
        {cost.seconds !== null && (
          <>
            {candidate.regret_at_least_s !== null && widest > 0 ? <Bar share={candidate.regret_at_least_s / widest} colour={styleOf(candidate.target).base} /> : <span />}
            <span class="numbers">
              {approximately(cost.source) + duration(cost.seconds)} {sourceLabel(cost.source) !== "" ? <i title={cost.reason}>{cost.source}</i> : <span class="muted">{plusMinus(cost.seconds, cost.interval_s)}</span>}
            </span>
          </>
        )}
      </button>
      {!isReport && <Decisions candidate={candidate} />}
      {cost.seconds === null && (
        <p class="rejection">
          <b>{cost.stage || cost.source}</b> {cost.reason}
        </p>
      )}
    </li>
  );
}

/** The buttons that pin and veto a candidate. */
function Decisions({ candidate }: { candidate: NodeCandidate }): JSX.Element {
  return (
    <span class="row-buttons">
      <button type="button" class="icon" disabled={isDeciding.value} aria-label={`Pin exactly ${candidate.label} to ${candidate.target}`} title="Pin exactly this candidate" onClick={() => pinCandidate(candidate)}>
        ◆
      </button>
      <button type="button" class="icon" disabled={isDeciding.value} aria-label={`Veto ${candidate.label} of ${candidate.target}`} title="Veto this candidate" onClick={() => vetoThisCandidate(candidate)}>
        ⊘
      </button>
    </span>
  );
}

/** A candidate in few words: its operators, or the first and the last of many. */
function labelOf(candidate: NodeCandidate): string {
  const ops = candidate.nodes.map((node) => model.value?.graph.nodes[node]?.op ?? "");
  if (ops.length === 1) return `${ops[0] ?? ""} alone`;
  return ops.length <= 3 ? ops.join(" + ") : `${ops[0] ?? ""} … ${ops[ops.length - 1] ?? ""}, ${ops.length} nodes`;
}

/** The least total of a plan that holds the candidate, in words. */
function totalText(candidate: NodeCandidate): string {
  const { regret_s: regret, regret_at_least_s: least } = candidate;
  const total = run.value?.plan?.total_s;
  if (least === null || total === undefined) return "";
  if (regret === null && candidate.rests_on_unknown && least <= 0) return `the best plan that holds it is not known: ${inexactReason(candidate)}`;
  if (candidate.regret_basis === "measured") return `the best plan that holds it: ${regretText(candidate)} whole, against the plan of the run`;
  return regret === null ? `no plan that holds it is predicted below ${duration(total + least)}` : `cheapest plan that holds it: ${timeText("predicted", total + regret)}`;
}

