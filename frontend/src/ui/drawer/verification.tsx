// The verification of the plan: its largest error against the reference, and the error of each output.

import type { JSX } from "preact";
import { duration, signedDuration, relativeError } from "../../base/format";
import { errorsOf, largestError } from "../../data/plan/verification";
import type { RunSnapshot, VerifyInfo } from "../../data/protocol";

/** The most outputs on the page. */
const MOST_OUTPUTS = 50;

/** The part of the additive error that is explained, since costs were corrected to those inside the whole. */
function explainedText({ explained_s: explainedS }: VerifyInfo): string {
  return explainedS === null ? "" : `, of which ${signedDuration(explainedS)} is explained by what they take inside the whole`;
}

export function Verification({ run: current }: { run: RunSnapshot }): JSX.Element {
  const { verify } = current;
  const error = largestError(verify);
  if (verify === null || error === null) return <p class="muted">Not verified yet: Export builds this plan, compares it with the reference and measures it end to end.</p>;
  const facts = [`Largest relative error ${relativeError(error)} against ${verify.reference ?? "the reference"}`];
  if (verify.accuracy !== null) facts.push(`${relativeError(verify.accuracy)} is accepted`);
  if (verify.apart && verify.measured_s !== null) facts.push(`measured by itself, apart from the other plans: ${duration(verify.measured_s)}`);
  if (verify.additive_error_s !== null) facts.push(`measured less its parts alone: ${signedDuration(verify.additive_error_s)}${explainedText(verify)}`);
  return (
    <>
      <p class="muted">{facts.join("; ")}.</p>
      {verify.gap !== "" && <p class="warn">{`${verify.gap.charAt(0).toUpperCase()}${verify.gap.slice(1)}.`}</p>}
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
