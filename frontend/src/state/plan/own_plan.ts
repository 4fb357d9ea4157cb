// Plans of the user's own, which are compared with that of a run: each was given as text, and costed by the server. They live as long as
// the page.

import { signal } from "@preact/signals";
import { api } from "../../data/api";
import { parseDevices } from "../../data/plan/own_plan";
import type { Against } from "../../data/protocol";
import { Asking } from "../asking";
import { run } from "../run/run";

export const OWN = "own:";

/** A given plan, by the reference under which it is compared. */
export interface OwnPlan {
  ref: string;
  answer: Against;
}

export const ownPlans = signal<readonly OwnPlan[]>([]);
const asking = new Asking();
export const { isBusy: isCosting, error: ownPlanError } = asking;

let count = 0;

/** Cost a plan on what the shown run knows; the answer is its reference, or null where it cannot be costed. */
export async function giveOwnPlan(text: string, name: string, devicesText: string): Promise<string | null> {
  const current = run.peek();
  if (!current || isCosting.peek()) return null;
  const read = parseDevices(devicesText);
  if ("mistake" in read || text.trim() === "") {
    const message = "mistake" in read ? read.mistake : "no plan was given";
    ownPlanError.value = { code: "own_plan", message, hint: "mistake" in read ? "such as CPU=openvino" : "paste one, or choose a file" };
    return null;
  }
  const answer = await asking.ask(() => api.against(current.id, { text, name, devices: read.devices }));
  if (answer === null) return null;
  const ref = `${OWN}${++count}`;
  ownPlans.value = [...ownPlans.peek(), { ref, answer }];
  return ref;
}

/** The given plan of a reference; undefined where the page has none, such as after it was loaded again. */
export function ownPlan(ref: string): OwnPlan | undefined {
  return ownPlans.value.find((one) => one.ref === ref);
}
