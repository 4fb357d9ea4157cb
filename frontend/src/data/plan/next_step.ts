// What a user does next about a run, by the kind of its verdict. Pure.

import type { RunSnapshot } from "../protocol";
import { baselineName } from "./baselines";

export interface NextStep {
  kind: "ship" | "measure" | "compare";
  label: string;
  title: string;
  /** The name of the baseline to compare with; empty for other steps. */
  against: string;
}

/** The step that follows from the verdict; null where there is none, or the plan is wrong. */
export function nextStep({ verdict, recorded, machine }: Pick<RunSnapshot, "verdict" | "recorded" | "machine">): NextStep | null {
  if (!verdict || verdict.kind === "wrong") return null;
  if (verdict.is_good) return { kind: "ship", label: "Ship", title: "Choose the form in which the plan runs elsewhere", against: "" };
  if (verdict.kind === "slower" && verdict.against !== "") {
    const other = baselineName(verdict.against);
    return { kind: "compare", label: `Compare with ${other}`, title: `Where the plan is slower than ${other}`, against: verdict.against };
  }
  if (recorded) return { kind: "measure", label: "Measure here", title: `The times are from ${machine || "another machine"}; a run here measures on this one`, against: "" };
  return { kind: "measure", label: "Measure on", title: "Run once more: known costs are kept, and whole plans are timed again", against: "" };
}
