// Finds the node of the graph for a node in Netron: by the tensors that it makes, whose names folding keeps, else by its own name. Pure.

import type { FoldedInfo, NodeJson } from "../protocol";
import type { Picked } from "./frame";

/** The node for the one that was selected in Netron; for a node that was folded away, the node that absorbed it. */
export function nodeOf(picked: Picked, nodes: readonly NodeJson[], folded: readonly FoldedInfo[]): number | undefined {
  const found = nodes.find((node) => node.outputs.some((output) => picked.outputs.includes(output.name)));
  if (found) return found.id;
  const into = folded.find((node) => node.name === picked.name)?.into;
  return into ? nodes.find((node) => node.name === into)?.id : undefined;
}
