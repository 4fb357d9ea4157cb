// The result of comparing a plan with the reference. An infinite error arrives as null, since JSON has no infinity. Pure.

import type { VerifyInfo } from "../protocol";

/** True if the plan is within its accuracy; null where it was not compared with the reference. */
export function isRight(verify: VerifyInfo | null): boolean | null {
  const error = largestError(verify);
  return error === null || verify === null ? null : verify.accuracy === null || error <= verify.accuracy;
}

/** The largest relative error of all outputs; null where nothing was compared. */
export function largestError(verify: VerifyInfo | null): number | null {
  return verify === null || verify.measured_s === null ? null : (verify.max_rel_error ?? Infinity);
}

/** The error of each output, the largest first. A list, since an object would put names such as "12" first. */
export function errorsOf({ errors }: Pick<VerifyInfo, "errors">): [string, number][] {
  return Object.entries(errors)
    .map(([name, error]): [string, number] => [name, error ?? Infinity])
    .sort(([, a], [, b]) => b - a);
}
