// The regions of a Relax module, of which one is to be opened, in words. Pure.

import { plural } from "../../base/format";
import type { RegionChoice } from "../protocol";

/** The place and the size of a region, such as "function main, block 2: 12 nodes"; blocks count from 0, as in the name of a region. */
export function regionText({ function: name, block, nodes }: RegionChoice): string {
  return `function ${name}, block ${block}: ${plural(nodes, "node")}`;
}
