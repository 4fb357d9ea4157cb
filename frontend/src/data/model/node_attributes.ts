// The attributes of a node beside the definition of its operator. Pure.

import { attribute } from "../../base/format";
import type { NodeJson, OperatorDefinition } from "../protocol";

export interface AttributeLine {
  name: string;
  text: string;
  /** As the definition has it; empty where there is none. */
  type: string;
  /** True if the node does not say it. */
  isDefault: boolean;
  doc: string;
}

/** The attributes of a node in its order, then those that it leaves at a default. */
export function attributesOf({ attributes }: NodeJson, definition: OperatorDefinition | undefined): AttributeLine[] {
  const defined = new Map(definition?.attributes.map((one) => [one.name, one]));
  const own = Object.entries(attributes).map(([name, value]) => ({ name, text: attribute(value), type: defined.get(name)?.type ?? "", isDefault: false, doc: defined.get(name)?.doc ?? "" }));
  const rest = [...defined.values()].filter(({ name, default: text }) => !(name in attributes) && text !== "");
  return [...own, ...rest.map(({ name, default: text, type, doc }) => ({ name, text, type, isDefault: true, doc }))];
}
