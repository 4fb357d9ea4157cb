// The form for a plan of the user's own in the tab "Compare", and what its comparison rests on.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { lossLines } from "../../data/plan/own_plan";
import { againstRef, compare, planRef } from "../../state/plan/compare";
import { giveOwnPlan, isCosting, ownPlan, ownPlanError } from "../../state/plan/own_plan";
import { ErrorCard } from "../widgets/error_card";

const FORMS = "A plan file, JSON {name: target} or [{target, nodes}], lines NAME=TARGET, a verbose log of ONNX Runtime, or HETERO affinities";
const PASTED = "pasted";

/** The form; `close` is called once the plan is compared. */
export function OwnPlanForm({ close }: { close: () => void }): JSX.Element {
  const text = useSignal("");
  const name = useSignal(PASTED);
  const devices = useSignal("");
  const take = async (file: File | undefined): Promise<void> => {
    if (!file) return;
    text.value = await file.text();
    name.value = file.name;
  };
  const submit = async (event: Event): Promise<void> => {
    event.preventDefault();
    const ref = await giveOwnPlan(text.value, name.value, devices.value);
    if (ref === null) return;
    compare(planRef.peek(), ref);
    close();
  };
  return (
    <form class="own-plan" aria-label="Your own plan" onSubmit={(event) => void submit(event)}>
      <label>
        Your own plan <span class="muted">{FORMS}</span>
        <textarea
          rows={5}
          spellcheck={false}
          placeholder={"*=onnxruntime\nconv1=tvm"}
          value={text.value}
          onInput={(event) => {
            text.value = event.currentTarget.value;
            name.value = PASTED;
          }}
        />
      </label>
      <div class="table-bar">
        <label>
          or its file <input type="file" onChange={(event) => void take(event.currentTarget.files?.[0])} />
        </label>
        <label title="Which target is meant by a device or provider that the plan names">
          devices (--as) <input type="text" size={30} placeholder="CPUExecutionProvider=onnxruntime" value={devices.value} onInput={(event) => (devices.value = event.currentTarget.value)} />
        </label>
        <button type="submit" class="primary" disabled={isCosting.value}>
          Compare
        </button>
      </div>
      {ownPlanError.value && <ErrorCard error={ownPlanError.value} />}
    </form>
  );
}

/** The apparent loss of the given plan that is compared, and what of it is not known. */
export function OwnPlanNote(): JSX.Element | null {
  const given = ownPlan(againstRef.value) ?? ownPlan(planRef.value);
  if (!given) return null;
  return (
    <div class="note" role="status">
      {lossLines(given.answer).map((line) => (
        <p key={line}>{line}</p>
      ))}
    </div>
  );
}
