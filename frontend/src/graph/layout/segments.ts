// Cuts a graph into segments that can be laid out one by one and stacked: a deep model is a chain of them.
// A box over which no edge passes, in topological order, is a neck; a segment runs from neck to neck, both included.

export interface Segment {
  /** Indices of the order: the upper neck and the lower one. */
  first: number;
  last: number;
  /** The indices of the edges inside. */
  edges: number[];
}

/** The segments of a graph, top to bottom. `ends` holds (from, to) of each edge as indices of the order, from < to. */
export function segmentsOf(count: number, ends: Int32Array): Segment[] {
  if (count === 1) return [{ first: 0, last: 0, edges: [] }];
  const over = edgesOver(count, ends);
  const segments: Segment[] = [];
  const segmentAt = new Int32Array(count);
  let first = 0;
  for (let index = 1; index < count; index++) {
    segmentAt[index] = segments.length;
    if (over[index] !== 0) continue;
    segments.push({ first, last: index, edges: [] });
    first = index;
  }
  ends.forEach((to, i) => {
    if (i % 2 === 1) segments[segmentAt[to] ?? 0]?.edges.push((i - 1) / 2);
  });
  return segments;
}

/** For each index how many edges pass over it; the last one has none. */
function edgesOver(count: number, ends: Int32Array): Int32Array {
  const over = new Int32Array(count + 1);
  ends.forEach((index, i) => {
    if (i % 2 === 0) over[index + 1] = (over[index + 1] ?? 0) + 1;
    else over[index] = (over[index] ?? 0) - 1;
  });
  for (let index = 1; index <= count; index++) over[index] = (over[index] ?? 0) + (over[index - 1] ?? 0);
  return over;
}
