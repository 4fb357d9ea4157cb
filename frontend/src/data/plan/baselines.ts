// The baselines of a run by their names: a target alone, `<target>+host` where it leaves nodes to others,
// `<target>:<source>` whose groups of nodes came from elsewhere, greedy, and where several shapes are planned
// for the one plan of all, and that of a range of them.

const REST = "+host";
const SOURCE = ":";
const MEANINGS: Readonly<Record<string, string>> = {
  greedy: "the largest sub-graphs first",
  "all shapes": "the one plan that is best over all planned shapes",
  "its range": "the plan of the range of shapes that this one lies in",
};

/** True if a baseline is one target for the whole model. */
export function isAlone(name: string): boolean {
  return !(name in MEANINGS) && !name.endsWith(REST) && !name.includes(SOURCE);
}

/** The name of a baseline in words. */
export function baselineName(name: string): string {
  return isAlone(name) ? `${name} alone` : name;
}

/** The words for a baseline that is not one target; empty where it is one. */
export function baselineMeaning(name: string): string {
  if (name.endsWith(REST)) return `only what ${name.slice(0, -REST.length)} must leave goes elsewhere`;
  if (name.includes(SOURCE)) {
    const [target, source] = name.split(SOURCE, 2);
    return `${target} takes exactly the groups of nodes that ${source} makes`;
  }
  return MEANINGS[name] ?? "";
}
