// The answers that a report brings with it: what the server would say to each request of the page. They stand in the document as JSON,
// compressed and as base64, in an element that no browser runs; the first request unpacks them.

import type { NodeCandidates, PackedNodeCandidates } from "./protocol";

/** The id of the element that holds them. */
const ELEMENT = "report-data";

/** An answer by its method and path, such as "GET runs/1/log". */
export type Answers = ReadonlyMap<string, unknown>;

/** The question for the candidates of a node, which a report answers for all nodes under "*". */
const OF_NODE = /^(GET runs\/.+\/candidates\?node=)(\d+)$/;

let unpacking: Promise<Answers> | undefined;

/** All answers of the report. */
export function packedAnswers(): Promise<Answers> {
  unpacking ??= unpacked(document.getElementById(ELEMENT)?.textContent ?? "");
  return unpacking;
}

/** The answer to a question, such as "GET runs/1/log"; undefined where the report has none. */
export function answerIn(answers: Answers, asked: string): unknown {
  const [, start, node] = OF_NODE.exec(asked) ?? [];
  if (start === undefined) return answers.get(asked);
  const all = answers.get(`${start}*`) as PackedNodeCandidates | undefined;
  return all && candidatesOf(all, Number(node));
}

/** The candidates of one node; undefined where there is no such node. */
function candidatesOf({ candidates, rejections, nodes }: PackedNodeCandidates, node: number): NodeCandidates | undefined {
  const rows = nodes[node];
  const pick = <T>(table: readonly T[], indices: readonly number[]): T[] => indices.flatMap((index) => table[index] ?? []);
  return rows && { node, candidates: pick(candidates, rows.candidates), rejections: pick(rejections, rows.rejections) };
}

/** Unpack answers: JSON, compressed by gzip, as base64. */
export async function unpacked(text: string): Promise<Answers> {
  const bytes = Uint8Array.from(atob(text.trim()), (char) => char.charCodeAt(0));
  const plain = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"));
  return new Map(Object.entries((await new Response(plain).json()) as Record<string, unknown>));
}
