// Whether the plan is right, and what one ships: the error of each output, the files of an export, the commands that use them.

import { useSignal } from "@preact/signals";
import type { JSX } from "preact";
import { useEffect } from "preact/hooks";
import { api } from "../api";
import { difference, relativeError } from "../format";
import type { ExportInfo, RunSnapshot, Shipped } from "../protocol";
import { hasEnded } from "../run_reducer";
import { errorsOf, largestError } from "../verified";
import { CopyButton } from "./parts";

/** Outputs in the page; the document of the run has all. */
const MOST_OUTPUTS = 50;

export function Verification({ run: current }: { run: RunSnapshot }): JSX.Element {
  const { verify } = current;
  const error = largestError(verify);
  if (verify === null || error === null) return <p class="muted">Not verified yet: Export builds this plan, compares it with the reference and measures it end to end.</p>;
  const parts = [`Largest relative error ${relativeError(error)} against ${verify.reference ?? "the reference"}`];
  if (verify.accuracy !== null) parts.push(`${relativeError(verify.accuracy)} is accepted`);
  if (verify.additive_error_s !== null) parts.push(`measured end to end: ${difference(verify.additive_error_s)} against the sum of the parts`);
  return (
    <>
      <p class="muted">{parts.join("; ")}.</p>
      <OutputErrors errors={errorsOf(verify)} accuracy={verify.accuracy} />
    </>
  );
}

function OutputErrors({ errors, accuracy }: { errors: [string, number][]; accuracy: number | null }): JSX.Element | null {
  if (errors.length === 0) return null;
  return (
    <table class="outputs" aria-label="Error of each output">
      <thead>
        <tr>
          <th scope="col">output</th>
          <th scope="col">largest relative error</th>
        </tr>
      </thead>
      <tbody>
        {errors.slice(0, MOST_OUTPUTS).map(([name, error]) => (
          <tr key={name}>
            <th scope="row">{name}</th>
            <td class={accuracy !== null && error > accuracy ? "bad" : undefined}>{relativeError(error)}</td>
          </tr>
        ))}
        {errors.length > MOST_OUTPUTS && (
          <tr>
            <td colSpan={2} class="muted">{`${errors.length - MOST_OUTPUTS} more, none of them larger`}</td>
          </tr>
        )}
      </tbody>
    </table>
  );
}

/** What Export gives, and what is done with it. */
export function Shipping({ run: current }: { run: RunSnapshot }): JSX.Element | null {
  const shown = useSignal<ExportInfo | null>(null);
  const isReady = hasEnded(current) && current.plan !== null;
  useEffect(() => {
    shown.value = null;
    if (!isReady) return undefined;
    let isWanted = true;
    void api.exportContents(current.id).then(
      (found) => {
        if (isWanted) shown.value = found;
      },
      () => undefined,
    );
    return () => {
      isWanted = false;
    };
  }, [current.id, current.artifact, isReady]);
  if (!shown.value) return null;
  return (
    <section class="shipping" aria-label="What Export gives">
      <p class="muted">Export gives</p>
      <dl>
        {shown.value.files.map(({ name, says }) => (
          <div key={name}>
            <dt>
              <code>{name}</code>
            </dt>
            <dd class="muted">{says}</dd>
          </div>
        ))}
      </dl>
      <p class="muted">and it is used by</p>
      {shown.value.commands.map((command) => (
        <Command key={command.name} command={command} />
      ))}
    </section>
  );
}

function Command({ command }: { command: Shipped }): JSX.Element {
  return (
    <p>
      <code>{command.name}</code>
      <CopyButton text={command.name} label={`Copy the command: ${command.says}`} />
      <span class="muted">{command.says}</span>
    </p>
  );
}
