// What the inputs of a node are called: as the definition of its operator has it, which comes with the graph.

import type { FormalInputsJson } from "../protocol";

/** The definitions by operator; one that nobody knows is not among them. */
export type FormalInputs = Record<string, FormalInputsJson>;

/**
 * The name of input number `index` of a node. Where the definition ends, inner graphs read the tensor: it has its own short name.
 * Of an operator without a definition only the number is known.
 */
export function formalInput(formal: FormalInputs, op: string, index: number, tensor: string): string {
  const known = formal[op];
  return known ? (known.names[index] ?? known.rest ?? shortName(tensor)) : String(index);
}

/** The last part of a dotted or slashed name. */
export function shortName(name: string): string {
  const parts = name.split(/[./]/).filter((part) => part !== "");
  return parts[parts.length - 1] ?? name;
}
