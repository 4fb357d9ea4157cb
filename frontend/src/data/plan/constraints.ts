// Pins, vetoes and cuts as plain data (the constraints file of the server), and in words. Pure.

/** A constraint as the server takes it. */
export type Constraint = Record<string, unknown>;

/** These nodes on this target, whatever else is with them. */
export function pinNodes(names: readonly string[], target: string): Constraint {
  return { kind: "pin", nodes: [...names], target };
}

/** This exact partition. */
export function pinExactly(names: readonly string[], target: string): Constraint {
  return { kind: "pin", nodes: [...names], target, together: true, exact: true };
}

/** These nodes in one partition, whoever runs it. */
export function keepTogether(names: readonly string[]): Constraint {
  return { kind: "pin", nodes: [...names], together: true };
}

/** These nodes never on this target. */
export function vetoNodes(names: readonly string[], target: string): Constraint {
  return { kind: "veto", nodes: [...names], target };
}

/** This one candidate never. */
export function vetoCandidate(id: string): Constraint {
  return { kind: "veto", candidate: id };
}

/** All nodes of an operator (`op`) or with a name like this (`name`). */
export function everyNode(kind: "pin" | "veto", by: "op" | "name", value: string, target: string): Constraint {
  return { kind, [by]: value, target };
}

/** These two never in one partition. */
export function cutBetween(a: string, b: string): Constraint {
  return { kind: "cut", between: [a, b] };
}

/** Whether two constraints say the same. */
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

/** Constraints of a run as groups: neighbours in the list that say the same of other nodes were decided together. */
export function regrouped(constraints: readonly Constraint[]): Constraint[][] {
  const groups: Constraint[][] = [];
  for (const one of constraints) {
    const last = groups[groups.length - 1];
    if (last?.[0] && one["exact"] === true && shapeKey(last[0]) === shapeKey(one)) last.push(one);
    else groups.push([one]);
  }
  return groups;
}

/** What two constraints share that only differ in their nodes. */
function shapeKey(constraint: Constraint): string {
  return JSON.stringify([constraint["kind"], constraint["target"], constraint["together"], constraint["exact"], namesIn(constraint).length]);
}

/** A group of constraints in words. */
export function describeGroup(group: readonly Constraint[], labelOf?: (id: string) => string | undefined): string {
  const [first] = group;
  if (!first) return "";
  if (group.length === 1) return describe(first, labelOf);
  return first["kind"] === "cut" ? `${describe(first)}, and ${group.length - 1} more` : `${describe(first, labelOf)}, and ${group.length - 1} more like it`;
}

/** A constraint in words; `labelOf` knows candidates by their id. */
export function describe(constraint: Constraint, labelOf: (id: string) => string | undefined = () => undefined): string {
  const { kind, candidate, target, op, name, between, exact, together } = constraint;
  const where = typeof target === "string" ? target : "";
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
