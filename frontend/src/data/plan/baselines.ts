// The baselines of a run by their names: a target alone, `<target>+host` where it leaves nodes to others, and greedy.

const REST = "+host";

/** True if a baseline is one target for the whole model. */
export function isAlone(name: string): boolean {
  return name !== "greedy" && !name.endsWith(REST);
}

/** The name of a baseline in words. */
export function baselineName(name: string): string {
  return isAlone(name) ? `${name} alone` : name;
}

/** The words for a baseline that is not one target; empty where it is one. */
export function baselineMeaning(name: string): string {
  if (name.endsWith(REST)) return `only what ${name.slice(0, -REST.length)} must leave goes elsewhere`;
  return name === "greedy" ? "the largest sub-graphs first" : "";
}
