// The names of a node's inputs, from the definition of its operator; the definitions come with the graph.

import type { FormalInputsJson } from "../protocol";

/** The definitions by operator; unknown operators are not among them. */
export type FormalInputs = Record<string, FormalInputsJson>;

/**
 * The name of input `index` of a node. An input beyond the definition is read by an inner graph, and has the short name of its
 * tensor; an input of an operator without a definition has its number.
 */
export function formalInput(formal: FormalInputs, op: string, index: number, tensor: string): string {
  const known = formal[op];
  return known ? (known.names[index] ?? known.rest ?? shortName(tensor)) : String(index);
}

/** The last part of a dotted or slashed name; where that is a number, with the part before it: `layers.0`. */
export function shortName(name: string): string {
  const [last, before] = name.split(/[./]/).filter((part) => part !== "").reverse();
  if (last === undefined) return name;
  return before !== undefined && /^\d+$/.test(last) ? `${before}.${last}` : last;
}
