// What a key or a button does, where it takes more than one slice of the state: run, pin, veto, cut, export.

import { cutBetween, pinExactly, pinNodes, vetoCandidate, vetoNodes, type Constraint } from "../../data/plan/constraints";
import type { NodeCandidate } from "../../data/protocol";
import { model } from "../model/model";
import { partitionOf } from "../run/run";
import { selectedNodes, selectedPartition } from "../selection/selected";
import { focused } from "../selection/selection";
import { decide } from "./decisions";

/** Names of nodes, by index. */
export function namesOf(nodes: readonly number[]): string[] {
  return nodes.flatMap((node) => model.peek()?.graph.nodes[node]?.name ?? []);
}

/** The selected nodes by the target on which they are; those of no target are left out. */
function byPresentTarget(): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const node of selectedNodes.peek()) {
    const target = partitionOf.peek().get(node)?.target;
    if (target === undefined || target === "host") continue;
    groups.set(target, [...(groups.get(target) ?? []), ...namesOf([node])]);
  }
  return groups;
}

/** Pin the candidate in focus exactly; else the selected partition exactly, or the selected nodes each to its target. */
export function pin(): void {
  const candidate = focused.peek();
  const partition = selectedPartition.peek();
  if (candidate) pinCandidate(candidate);
  else if (partition) void decide(pinExactly(namesOf(partition.nodes), partition.target));
  else void decide(...[...byPresentTarget()].map(([target, names]) => pinNodes(names, target)));
}

/** Veto the candidate in focus; else the present target for each of the selected nodes. */
export function veto(): void {
  const candidate = focused.peek();
  if (candidate) vetoThisCandidate(candidate);
  else void decide(...[...byPresentTarget()].map(([target, names]) => vetoNodes(names, target)));
}

export interface Cuts {
  into: Constraint[];
  out: Constraint[];
  between: Constraint[];
}

/** The cuts that some nodes allow: on every edge into them, out of them, and between them. */
export function cutsOf(nodes: readonly number[]): Cuts {
  const inside = new Set(nodes);
  const cuts: Cuts = { into: [], out: [], between: [] };
  for (const { from, to } of model.peek()?.built.edges ?? []) {
    const [isFrom, isTo] = [inside.has(from), inside.has(to)];
    const [a, b] = namesOf([from, to]);
    if ((!isFrom && !isTo) || a === undefined || b === undefined) continue;
    const list = isFrom && isTo ? cuts.between : isFrom ? cuts.out : cuts.into;
    list.push(cutBetween(a, b));
  }
  return cuts;
}

/** Cut between two selected neighbours; else all around what is selected. */
export function cut(): void {
  const nodes = selectedNodes.peek();
  const { into, out, between } = cutsOf(nodes);
  void decide(...(nodes.length === 2 && between.length > 0 ? between : [...into, ...out]));
}

export function pinCandidate(candidate: NodeCandidate): void {
  void decide(pinExactly(namesOf(candidate.nodes), candidate.target));
}

export function vetoThisCandidate(candidate: NodeCandidate): void {
  void decide(vetoCandidate(candidate.id));
}
