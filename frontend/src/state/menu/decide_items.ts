// The items of the context menu for nodes, an edge, or an operator: pin, veto, cut, keep together, and the same for all equal nodes.
// Loaded when the menu is first opened.

import { plural } from "../../base/format";
import { suggestedPattern } from "../../base/glob";
import { indexNodes, repeatsOf, type NodeIndex } from "../../data/model/equal_nodes";
import { cutBetween, everyNode, keepTogether, pinExactly, pinNodes, vetoNodes, type Constraint } from "../../data/plan/constraints";
import type { NodeJson } from "../../data/protocol";
import type { Edge } from "../../graph/boxes/build";
import { groupFor, toggleText } from "../model/folding";
import { model, namesOf, type OpenedModel } from "../model/model";
import { cutsOf, decide } from "../plan/decisions";
import { targetsToDecide } from "../run/run";
import { selectNodes, toggleGroup } from "../selection/navigation";
import { selectedPartition } from "../selection/selected";
import { type MenuItem, type OpenMenu, pattern } from "./menu";

/** The subject of a menu. */
export type Subject = { kind: "nodes"; nodes: readonly number[] } | { kind: "edge"; edge: Edge } | { kind: "op"; op: string };

/** The menu for a subject; null where no model is open. */
export function menuFor(subject: Subject): Pick<OpenMenu, "label" | "items"> | null {
  const opened = model.peek();
  if (!opened) return null;
  if (subject.kind === "edge") return edgeMenu(subject.edge, opened);
  if (subject.kind === "op") return opMenu(subject.op, opened);
  return nodesMenu(subject.nodes, opened);
}

/** An item that makes a decision. */
function decisionItem(label: string, made: () => readonly Constraint[], more: Partial<MenuItem> = {}): MenuItem {
  return { label, run: () => void decide(...made()), ...more };
}

/** An item for each target. */
function targetItems(words: (target: string) => string, made: (target: string) => readonly Constraint[]): MenuItem[] {
  return targetsToDecide.peek().map((target) => decisionItem(words(target), () => made(target), { target }));
}

function nodesMenu(nodes: readonly number[], opened: OpenedModel): Pick<OpenMenu, "label" | "items"> {
  const names = namesOf(nodes);
  const first = opened.graph.nodes[nodes[0] ?? 0];
  const only = (target: string): string => target;
  const items: MenuItem[] = [
    { label: "Pin to", key: "p", items: targetItems(only, (target) => [pinNodes(names, target)]) },
    { label: "Veto", key: "v", items: targetItems(only, (target) => [vetoNodes(names, target)]) },
    { label: nodes.length === 1 ? "Alone, exactly this, on" : "Exactly these as one, on", items: targetItems(only, (target) => [pinExactly(names, target)]) },
    ...(nodes.length > 1 ? [decisionItem("Keep together", () => [keepTogether(names)])] : []),
    ...cutItems(nodes),
    ...equalItems(nodes, opened),
    ...foldItems(nodes),
    ...(first ? [{ label: "By name…", run: () => void (pattern.value = suggestedPattern(first.name)) }] : []),
  ];
  return { label: titleOf(nodes, first), items };
}

function foldItems(nodes: readonly number[]): MenuItem[] {
  const group = groupFor(nodes);
  return group ? [{ label: toggleText(group), key: "o", run: () => toggleGroup(group) }] : [];
}

function titleOf(nodes: readonly number[], first: NodeJson | undefined): string {
  if (nodes.length === 1) return first ? `${first.op} ${first.name}` : "";
  const partition = selectedPartition.peek();
  return partition ? `${plural(nodes.length, "node")} on ${partition.target}` : plural(nodes.length, "node");
}

function cutItems(nodes: readonly number[]): MenuItem[] {
  const { into, out, between } = cutsOf(nodes);
  const sides = [
    ...(nodes.length === 2 && between.length > 0 ? [decisionItem("Between them", () => between)] : []),
    ...(into.length > 0 ? [decisionItem("Before", () => into, { note: plural(into.length, "edge") })] : []),
    ...(out.length > 0 ? [decisionItem("After", () => out, { note: plural(out.length, "edge") })] : []),
    ...(into.length > 0 && out.length > 0 ? [decisionItem("All around", () => [...into, ...out], { note: plural(into.length + out.length, "edge") })] : []),
  ];
  return sides.length > 0 ? [{ label: "Cut", key: "x", items: sides }] : [];
}

/** Items for all nodes of the same operator, and for all repeats of the nodes. */
function equalItems(nodes: readonly number[], opened: OpenedModel): MenuItem[] {
  const ops = new Set(nodes.map((node) => opened.graph.nodes[node]?.op ?? ""));
  const [op] = ops;
  const made: MenuItem[] = [];
  if (ops.size === 1 && op !== undefined) {
    const same = opened.graph.nodes.filter((node) => node.op === op).map((node) => node.id);
    if (same.length > 1) made.push({ label: `All ${op} (${same.length})`, hasSeparator: true, items: opItems(op, same) });
  }
  const repeats = repeatsOf(indexOf(opened), nodes);
  if (repeats.length > 1) made.push({ label: `All like this (${repeats.length})`, hasSeparator: made.length === 0, items: repeatItems(repeats) });
  return made;
}

function opItems(op: string, same: readonly number[]): MenuItem[] {
  return [
    ...targetItems((target) => `Pin to ${target}`, (target) => [everyNode("pin", "op", op, target)]),
    ...targetItems((target) => `Veto ${target}`, (target) => [everyNode("veto", "op", op, target)]),
    { label: "Select them", hasSeparator: true, run: () => selectNodes(same) },
  ];
}

function repeatItems(repeats: readonly (readonly number[])[]): MenuItem[] {
  const all = namesOf(repeats.flat());
  return [
    ...targetItems((target) => `Pin to ${target}`, (target) => [pinNodes(all, target)]),
    ...targetItems((target) => `Exactly so on ${target}`, (target) => repeats.map((nodes) => pinExactly(namesOf(nodes), target))),
    ...targetItems((target) => `Veto ${target}`, (target) => [vetoNodes(all, target)]),
    { label: "Select them", hasSeparator: true, run: () => selectNodes(repeats.flat()) },
  ];
}

function opMenu(op: string, opened: OpenedModel): Pick<OpenMenu, "label" | "items"> {
  const same = opened.graph.nodes.filter((node) => node.op === op).map((node) => node.id);
  return { label: `All ${op} (${same.length})`, items: opItems(op, same) };
}

function edgeMenu({ from, to }: Edge, opened: OpenedModel): Pick<OpenMenu, "label" | "items"> {
  const [a, b] = [opened.graph.nodes[from], opened.graph.nodes[to]];
  const [one, other] = [a?.name ?? "", b?.name ?? ""];
  const items = [
    decisionItem("Cut here", () => [cutBetween(one, other)]),
    decisionItem("Keep both together", () => [keepTogether([one, other])]),
    { label: "Select both", isApart: true, run: () => selectNodes([from, to]) },
  ];
  return { label: `${a?.op ?? ""} ${one} → ${b?.op ?? ""} ${other}`, items };
}

let known: { opened: OpenedModel; index: NodeIndex } | undefined;

function indexOf(opened: OpenedModel): NodeIndex {
  if (known?.opened !== opened) known = { opened, index: indexNodes(opened.graph) };
  return known.index;
}
