// Which node of ours a node in Netron is: by the tensors that it makes, which folding leaves as they are, else by its name. Pure.

import type { FoldedNodeJson, NodeJson } from "../protocol";
import type { Picked } from "./frame";

/** The node that was selected in Netron; one that folding took away is found in the node that absorbed it. */
export function nodeOf(picked: Picked, nodes: readonly NodeJson[], folded: readonly FoldedNodeJson[]): number | undefined {
  const found = nodes.find((node) => node.outputs.some((output) => picked.outputs.includes(output.name)));
  if (found) return found.id;
  const into = folded.find((node) => node.name === picked.name)?.into;
  return into ? nodes.find((node) => node.name === into)?.id : undefined;
}
