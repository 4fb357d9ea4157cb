// Nodes as the server sends them: pairs of the first and the last number of each run without gaps. Pure.

/** The nodes, ascending. */
export function nodesIn(spans: readonly number[]): number[] {
  const nodes: number[] = [];
  eachSpan(spans, (first, last) => {
    for (let node = first; node <= last; node++) nodes.push(node);
  });
  return nodes;
}

/** Ascending nodes as spans. */
export function spansOf(nodes: readonly number[]): number[] {
  const spans: number[] = [];
  for (const node of nodes) {
    if (spans[spans.length - 1] === node - 1) spans[spans.length - 1] = node;
    else spans.push(node, node);
  }
  return spans;
}

/** How many nodes there are. */
export function sizeOf(spans: readonly number[]): number {
  let size = 0;
  eachSpan(spans, (first, last) => (size += last - first + 1));
  return size;
}

/** Calls with the first and the last node of each run. */
export function eachSpan(spans: readonly number[], visit: (first: number, last: number) => void): void {
  for (let at = 0; at + 1 < spans.length; at += 2) visit(spans[at] ?? 0, spans[at + 1] ?? 0);
}

const MOST_NODES = 100_000;

/** Nodes as an address writes them: `3-7.9`. */
export function formatNodes(nodes: readonly number[]): string {
  const parts: string[] = [];
  eachSpan(spansOf([...nodes].sort((a, b) => a - b)), (first, last) => parts.push(first === last ? String(first) : `${first}-${last}`));
  return parts.join(".");
}

/** The nodes that an address names; nothing where it makes no sense, or names more than any model has. */
export function parseNodes(text: string): number[] {
  const spans: number[] = [];
  for (const part of text.split(".")) {
    const found = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part);
    if (!found) return [];
    spans.push(Number(found[1]), Number(found[2] ?? found[1]));
  }
  return sizeOf(spans) > MOST_NODES ? [] : [...new Set(nodesIn(spans))];
}
