// What comparing a plan with the reference came to. JSON has no infinity: an infinite error comes as null. Pure.

import type { VerifyInfo } from "../protocol";

/** Whether the whole plan was compared with the reference, and is within its accuracy; null where that was not done. */
export function isRight(verify: VerifyInfo | null): boolean | null {
  const error = largestError(verify);
  return error === null || verify === null ? null : verify.accuracy === null || error <= verify.accuracy;
}

/** The largest relative error of all outputs; null where nothing was compared. */
export function largestError(verify: VerifyInfo | null): number | null {
  return verify === null || verify.measured_s === null ? null : (verify.max_rel_error ?? Infinity);
}

/** The error of each output, the largest first. An object cannot keep this order: names such as "12" come first in it. */
export function errorsOf({ errors }: Pick<VerifyInfo, "errors">): [string, number][] {
  return Object.entries(errors)
    .map(([name, error]): [string, number] => [name, error ?? Infinity])
    .sort(([, a], [, b]) => b - a);
}
