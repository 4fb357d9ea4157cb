// The section "Which toolchains are worth having": the best plan over each set of the run's targets, as a table with bars. Asked for by a button, since
// it is a search for each set.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useMemo } from "preact/hooks";
import { api } from "../../data/api";
import type { RunSnapshot, TargetSet, Worth } from "../../data/protocol";
import { Asking } from "../../state/asking";
import { styleOf } from "../../state/model/catalogue";
import { Badge } from "../widgets/badge";
import { Bar } from "../widgets/bar";
import { ErrorCard } from "../widgets/error_card";

const SHOWN = 32;

/** The section; it begins anew with each run. */
export function WorthSection({ run }: { run: RunSnapshot }): JSX.Element {
  return <Section key={run.id} id={run.id} />;
}

function Section({ id }: { id: string }): JSX.Element {
  const found = useSignal<Worth | null>(null);
  const asking = useMemo(() => new Asking(), []);
  const ask = async (): Promise<void> => void (found.value = await asking.ask(() => api.worth(id)));
  const isAsked = asking.isBusy.value;
  return (
    <section class="worth" aria-label="Which toolchains are worth having">
      {!found.value && (
        <button type="button" disabled={isAsked} title="The best plan with each set of targets, from known costs; nothing is measured" onClick={() => void ask()}>
          {isAsked ? "Searching with each set of targets…" : "Which toolchains are worth having?"}
        </button>
      )}
      {asking.error.value && <ErrorCard error={asking.error.value} />}
      {found.value && <Answer found={found.value} />}
    </section>
  );
}

function Answer({ found }: { found: Worth }): JSX.Element {
  const widest = Math.max(0, ...found.sets.map((one) => one.measured_s ?? one.total_s ?? 0));
  return (
    <div role="status">
      <p>
        <b>{found.text}</b>
      </p>
      {found.steps.length > 1 && (
        <ol>
          {found.steps.map((step) => (
            <li key={step.targets.join()}>{step.text}</li>
          ))}
        </ol>
      )}
      <table class="totals" aria-label="The best plan over each set of targets">
        <thead>
          <tr>
            <th scope="col">targets</th>
            <th scope="col">time</th>
            <td class="wide" />
            <th scope="col">without a node</th>
            <th scope="col">partitions</th>
          </tr>
        </thead>
        <tbody>
          {found.sets.slice(0, SHOWN).map((one) => (
            <SetRow key={one.targets.join()} one={one} widest={widest} />
          ))}
        </tbody>
      </table>
      {found.sets.length > SHOWN && <p class="muted">{`and ${found.sets.length - SHOWN} more, slower ones`}</p>}
      {!found.is_whole && <p class="muted">Time ran out before all sets were searched.</p>}
    </div>
  );
}

function SetRow({ one, widest }: { one: TargetSet; widest: number }): JSX.Element {
  const colour = one.used.length === 1 ? styleOf(one.used[0] ?? "").base : "var(--accent)";
  const seconds = one.measured_s ?? one.total_s;
  const idle = one.against === null ? [] : one.targets.filter((name) => !one.used.includes(name));
  return (
    <tr>
      <th scope="row">
        {one.targets.map((name) => (
          <Badge key={name} target={name} />
        ))}{" "}
        {one.targets.join(" + ")}
      </th>
      <td>{one.text}</td>
      <td class="wide">{seconds !== null && <Bar share={widest > 0 ? seconds / widest : 0} colour={colour} />}</td>
      <td class="muted">{idle.join(", ")}</td>
      <td>{one.against === null ? "" : one.partitions}</td>
    </tr>
  );
}
