// Pins and vetoes as plain data (the constraints file of the server), and in words. Pure.

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

/** These nodes never on this target. */
export function vetoNodes(names: readonly string[], target: string): Constraint {
  return { kind: "veto", nodes: [...names], target };
}

/** This one candidate never. */
export function vetoCandidate(id: string): Constraint {
  return { kind: "veto", candidate: id };
}

/** Whether two constraints say the same. */
export function isSame(a: Constraint, b: Constraint): boolean {
  const text = (one: Constraint): string => JSON.stringify(Object.entries(one).sort(([x], [y]) => (x < y ? -1 : 1)));
  return text(a) === text(b);
}

/** The names that a constraint lists. */
export function namesIn(constraint: Constraint): string[] {
  const { node, nodes } = constraint as { node?: unknown; nodes?: unknown };
  const listed = Array.isArray(nodes) ? nodes : node === undefined ? [] : [node];
  return listed.map(String);
}

/** A constraint in words; `labelOf` knows candidates by their id. */
export function describe(constraint: Constraint, labelOf: (id: string) => string | undefined = () => undefined): string {
  const { kind, candidate, target, op, name, between, exact } = constraint as Record<string, unknown>;
  const where = typeof target === "string" ? target : "";
  if (kind === "cut" && Array.isArray(between)) return `cut between ${between.join(" and ")}`;
  if (typeof candidate === "string") return `${String(kind)} ${labelOf(candidate) ?? `candidate ${candidate}`}`;
  const names = namesIn(constraint);
  const what =
    names.length > 0 ? listed(names) : typeof op === "string" ? `every ${op}` : typeof name === "string" ? `every node named ${name}` : "the whole model";
  if (kind === "pin") return exact === true ? `pin exactly ${what} to ${where}` : `pin ${what} to ${where}`;
  return `veto ${where} for ${what}`;
}

function listed(names: readonly string[]): string {
  if (names.length <= 3) return names.join(" + ");
  return `${names[0] ?? ""} … ${names[names.length - 1] ?? ""} (${names.length} nodes)`;
}
