// The field "what if this took … ms" for the candidate in focus, or for the partition of the selection.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { duration } from "../../base/format";
import { isReport } from "../../data/config";
import { parseCost } from "../../data/plan/typed_cost";
import { isDeciding, setCost, terms } from "../../state/plan/decisions";
import { partitionOf } from "../../state/run/run";
import { selectedPartition } from "../../state/selection/selected";
import { focused, selection } from "../../state/selection/selection";

/** A candidate whose cost can be typed in. */
interface Subject {
  id: string;
  target: string;
  what: string;
}

function subject(): Subject | null {
  const candidate = focused.value;
  if (candidate) return { ...candidate, what: `this ${candidate.label} on ${candidate.target}` };
  const chosen = selection.value;
  const partition = selectedPartition.value ?? (chosen.kind === "box" ? partitionOf.value.get(chosen.box) : undefined);
  return partition ? { ...partition, what: `this partition on ${partition.target}` } : null;
}

export function TypedCostField(): JSX.Element | null {
  const found = subject();
  if (isReport || !found || found.target === "host") return null;
  return <Field key={found.id} {...found} />;
}

function Field({ id, what }: Subject): JSX.Element {
  const known = terms.value.costs[id];
  const text = useSignal(known === undefined ? "" : duration(known));
  const mistake = useSignal("");
  const submit = (event: Event): void => {
    event.preventDefault();
    const read = parseCost(text.value);
    mistake.value = "mistake" in read ? read.mistake : "";
    if ("seconds" in read) void setCost(id, read.seconds);
  };
  return (
    <form class="typed-cost" onSubmit={submit}>
      <label>
        {`What if ${what} took `}
        <input type="text" size={8} placeholder="1.2 ms" aria-invalid={mistake.value !== ""} aria-describedby="typed-cost-mistake" value={text.value} onInput={(event) => (text.value = event.currentTarget.value)} />
      </label>
      <button type="submit" disabled={isDeciding.value} title="Find the best plan with this cost; measurements stay as they are">
        Try
      </button>
      {known !== undefined && (
        <button type="button" disabled={isDeciding.value} title="Back to the cost that is known" onClick={() => void setCost(id, null)}>
          Take back
        </button>
      )}
      <p id="typed-cost-mistake" class="bad" role="status">
        {mistake.value}
      </p>
    </form>
  );
}
