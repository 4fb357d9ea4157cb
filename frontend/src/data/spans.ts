// Sets of nodes as spans, the form in which the server sends them: the first and the last node of each gapless run, in pairs. Pure.

/** The nodes of spans, ascending. */
export function nodesIn(spans: readonly number[]): number[] {
  const nodes: number[] = [];
  eachSpan(spans, (first, last) => {
    for (let node = first; node <= last; node++) nodes.push(node);
  });
  return nodes;
}

/** The spans of ascending nodes. */
export function spansOf(nodes: readonly number[]): number[] {
  const spans: number[] = [];
  for (const node of nodes) {
    if (spans[spans.length - 1] === node - 1) spans[spans.length - 1] = node;
    else spans.push(node, node);
  }
  return spans;
}

/** The number of nodes. */
export function sizeOf(spans: readonly number[]): number {
  let size = 0;
  eachSpan(spans, (first, last) => (size += last - first + 1));
  return size;
}

/** Call `visit` with the first and the last node of each span. */
export function eachSpan(spans: readonly number[], visit: (first: number, last: number) => void): void {
  for (let at = 0; at + 1 < spans.length; at += 2) visit(spans[at] ?? 0, spans[at + 1] ?? 0);
}

const MOST_NODES = 100_000;

/** Nodes as text for the address: `3-7.9`. */
export function formatNodes(nodes: readonly number[]): string {
  const parts: string[] = [];
  eachSpan(spansOf([...nodes].sort((a, b) => a - b)), (first, last) => parts.push(first === last ? String(first) : `${first}-${last}`));
  return parts.join(".");
}

/** The nodes of such a text; none where it cannot be read, or names more nodes than any model has. */
export function parseNodes(text: string): number[] {
  const spans: number[] = [];
  for (const part of text.split(".")) {
    const found = /^(\d{1,6})(?:-(\d{1,6}))?$/.exec(part);
    if (!found) return [];
    spans.push(Number(found[1]), Number(found[2] ?? found[1]));
  }
  return sizeOf(spans) > MOST_NODES ? [] : [...new Set(nodesIn(spans))];
}
