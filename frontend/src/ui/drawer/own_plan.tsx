// The form for a plan of the user's own in the tab "Compare", and what its comparison rests on.

import { signal } from "@preact/signals";
import type { JSX } from "preact";
import { lossLines, measureCommand, measuredLine, PASTED } from "../../data/plan/own_plan";
import { againstRef, compare, planRef } from "../../state/plan/compare";
import { giveOwnPlan, isCosting, measureOwnPlan, measuringOwn, type OwnPlan, ownPlan, ownPlanError, stopMeasuringOwn } from "../../state/plan/own_plan";
import { cannotMeasure } from "../../state/run/remeasuring";
import { CopyButton } from "../widgets/copy_button";
import { ErrorCard } from "../widgets/error_card";

const FORMS = "A plan file, JSON {name: target} or [{target, nodes}], lines NAME=TARGET, a verbose log of ONNX Runtime, or HETERO affinities";

// Kept while the form is closed, so that nothing typed is lost.
const text = signal("");
const name = signal(PASTED);
const devices = signal("");

/** The form; `close` is called once the plan is compared, and by Escape. */
export function OwnPlanForm({ close }: { close: () => void }): JSX.Element {
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
    <form class="own-plan" aria-label="Your own plan" onSubmit={(event) => void submit(event)} onKeyDown={(event) => event.key === "Escape" && close()}>
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
          devices <input type="text" size={30} placeholder="CPUExecutionProvider=onnxruntime" value={devices.value} onInput={(event) => (devices.value = event.currentTarget.value)} />
        </label>
        <button type="submit" class="primary" disabled={isCosting.value}>
          Compare
        </button>
      </div>
      {ownPlanError.value && <ErrorCard error={ownPlanError.value} />}
    </form>
  );
}

/** The apparent loss of the given plan that is compared, what of it is not known, and the button that measures both plans whole. */
export function OwnPlanNote(): JSX.Element | null {
  const given = ownPlan(againstRef.value) ?? ownPlan(planRef.value);
  if (!given) return null;
  return (
    <div class="note" role="status">
      {[...(given.measured ? [measuredLine(given.measured.beside)] : lossLines(given.answer))].map((line) => (
        <p key={line}>{line}</p>
      ))}
      {given.measured === null && <MeasureOwn given={given} />}
      {ownPlanError.value && <ErrorCard error={ownPlanError.value} />}
    </div>
  );
}

function MeasureOwn({ given }: { given: OwnPlan }): JSX.Element {
  const going = measuringOwn.value;
  if (cannotMeasure.value !== null) {
    const command = measureCommand(given.given);
    return (
      <p>
        It cannot be timed end to end here: {cannotMeasure.value}. Where this run was measured, this does it: <code>{command}</code>
        <CopyButton text={command} label="Copy the command that measures both plans whole" />
      </p>
    );
  }
  if (going !== null) {
    return (
      <p>
        {going.ref === given.ref ? `Measuring both plans whole: ${going.phase} … ` : "Another plan of yours is being measured … "}
        <button type="button" onClick={() => void stopMeasuringOwn()}>
          Stop
        </button>
      </p>
    );
  }
  return (
    <p>
      <button type="button" title="Build, verify and time your plan and this run's in turns; unknown costs of yours are measured first" onClick={() => void measureOwnPlan(given)}>
        Measure both whole
      </button>
    </p>
  );
}
