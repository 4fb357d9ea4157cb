// Constraints (pins, vetoes and cuts) as plain data, in the form of a constraints file, and in words. Pure.

/** A constraint in the form that the server takes. */
export type Constraint = Record<string, unknown>;

/** Pin: these nodes on this target, in whatever partitions. */
export function pinNodes(names: readonly string[], target: string): Constraint {
  return { kind: "pin", nodes: [...names], target };
}

/** Pin: exactly these nodes as one partition on this target. */
export function pinExactly(names: readonly string[], target: string): Constraint {
  return { kind: "pin", nodes: [...names], target, together: true, exact: true };
}

/** Pin: these nodes in one partition, on whatever target. */
export function keepTogether(names: readonly string[]): Constraint {
  return { kind: "pin", nodes: [...names], together: true };
}

/** Veto: none of these nodes on this target. */
export function vetoNodes(names: readonly string[], target: string): Constraint {
  return { kind: "veto", nodes: [...names], target };
}

/** Veto: no target at this location. */
export function vetoLocation(location: string): Constraint {
  return { kind: "veto", location };
}

/** Veto: not this candidate. */
export function vetoCandidate(id: string): Constraint {
  return { kind: "veto", candidate: id };
}

/** Pin or veto: all nodes of an operator (`op`), or all whose names match a pattern (`name`). */
export function everyNode(kind: "pin" | "veto", by: "op" | "name", value: string, target: string): Constraint {
  return { kind, [by]: value, target };
}

/** Cut: these two nodes not in one partition. */
export function cutBetween(a: string, b: string): Constraint {
  return { kind: "cut", between: [a, b] };
}

/** True if two constraints are equal. */
export function isSame(a: Constraint, b: Constraint): boolean {
  const text = (one: Constraint): string => JSON.stringify(Object.entries(one).sort(([x], [y]) => (x < y ? -1 : 1)));
  return text(a) === text(b);
}

/** The names that a constraint lists. */
export function namesIn(constraint: Constraint): string[] {
  const { node, nodes, between } = constraint as { node?: unknown; nodes?: unknown; between?: unknown };
  const lists = Array.isArray(nodes) ? nodes : Array.isArray(between) ? between : node === undefined ? [] : [node];
  return lists.map(String);
}

/** The constraints of a run in groups: neighbours that differ only in their nodes count as one decision. */
export function regrouped(constraints: readonly Constraint[]): Constraint[][] {
  const groups: Constraint[][] = [];
  for (const one of constraints) {
    const last = groups[groups.length - 1];
    if (last?.[0] && one["exact"] === true && shapeKey(last[0]) === shapeKey(one)) last.push(one);
    else groups.push([one]);
  }
  return groups;
}

/** A key that is equal for constraints that differ only in their nodes. */
function shapeKey(constraint: Constraint): string {
  return JSON.stringify([constraint["kind"], constraint["target"], constraint["location"], constraint["together"], constraint["exact"], namesIn(constraint).length]);
}

/** A group of constraints in words. */
export function describeGroup(group: readonly Constraint[], labelOf?: (id: string) => string | undefined): string {
  const [first] = group;
  if (!first) return "";
  if (group.length === 1) return describe(first, labelOf);
  return first["kind"] === "cut" ? `${describe(first)}, and ${group.length - 1} more` : `${describe(first, labelOf)}, and ${group.length - 1} more like it`;
}

/** A constraint in words; `labelOf` gives the label of a candidate by its id. */
export function describe(constraint: Constraint, labelOf: (id: string) => string | undefined = () => undefined): string {
  const { kind, candidate, target, location, op, name, between, exact, together } = constraint;
  const where = typeof target === "string" ? target : typeof location === "string" ? location : "";
  if (kind === "cut" && Array.isArray(between)) return `cut between ${between.join(" and ")}`;
  if (typeof candidate === "string") return `${String(kind)} ${labelOf(candidate) ?? `candidate ${candidate}`}`;
  const names = namesIn(constraint);
  const what =
    names.length > 0 ? nameList(names) : typeof op === "string" ? `every ${op}` : typeof name === "string" ? `every node named ${name}` : "the whole model";
  if (kind !== "pin") return `veto ${where} for ${what}`;
  if (where === "") return `keep ${what} together${exact === true ? ", with nothing else" : ""}`;
  return exact === true ? `pin exactly ${what} to ${where}` : `pin ${what} to ${where}${together === true ? ", together" : ""}`;
}

function nameList(names: readonly string[]): string {
  if (names.length <= 3) return names.join(" + ");
  return `${names[0] ?? ""} … ${names[names.length - 1] ?? ""} (${names.length} nodes)`;
}
