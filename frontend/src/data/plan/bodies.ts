// The bodies of `If`, `Loop` and `Scan`: the words about them, and a small picture of a body's graph. Pure.

import { duration, plural } from "../../base/format";
import type { BodyInfo, BodyNode, ControlNode } from "../protocol";

/** More nodes than that make no small picture. */
export const MOST_DRAWN = 120;
const COLUMN = 88;
const ROW = 30;
export const BOX = { width: 80, height: 20 };

/** "ran 20 times". */
export function ranText(runs: number): string {
  if (runs === 0) return "never ran with these inputs";
  return runs === 1 ? "ran once" : `ran ${runs} times`;
}

/** Who runs the node, and what it costs on the host, as sentences. */
export function runsOnText(node: ControlNode): string[] {
  const who = node.runs_on === "host" ? "The host runs it, body by body" : `${node.runs_on} runs it as a whole`;
  if (node.host_s === null) return [who, `On the host it has no cost: ${node.host_reason}`];
  return [who, `On the host it takes ${duration(node.host_s)}${node.host_is_measured ? ", measured with its bodies as planned" : ", its bodies' costs as often as they ran"}`];
}

/** "17 nodes in 2 partitions, 2.29 µs a run". */
export function bodyText(body: BodyInfo): string {
  return `${plural(body.nodes.length, "node")} in ${plural(body.partitions.length, "partition")}, ${duration(body.total_s)} a run`;
}

export interface BodyBox {
  x: number;
  y: number;
  /** The operator without its domain. */
  text: string;
  name: string;
  target: string;
  hasBodies: boolean;
}

export interface BodyLine {
  from: BodyBox;
  to: BodyBox;
}

export interface BodyPicture {
  boxes: BodyBox[];
  lines: BodyLine[];
  width: number;
  height: number;
}

/** The boxes of a body's nodes in rows, each below all that it reads, and the lines between them; null where there are too many. */
export function bodyPicture(body: BodyInfo): BodyPicture | null {
  if (body.nodes.length > MOST_DRAWN) return null;
  const rows = rowsOf(body.nodes);
  const target = new Map(body.partitions.flatMap((one) => one.nodes.map((node): [number, string] => [node, one.target])));
  const inner = new Set(body.inner.map((one) => one.node));
  const filled: number[] = [];
  const boxes = body.nodes.map((node, index): BodyBox => {
    const row = rows[index] ?? 0;
    const column = filled[row] ?? 0;
    filled[row] = column + 1;
    return { x: column * COLUMN, y: row * ROW, text: node.op.slice(node.op.lastIndexOf(".") + 1), name: node.name, target: target.get(index) ?? "", hasBodies: inner.has(index) };
  });
  const lines = body.nodes.flatMap((node, index) => node.reads.flatMap((read) => line(boxes[read], boxes[index])));
  return { boxes, lines, width: Math.max(1, ...filled) * COLUMN - (COLUMN - BOX.width), height: filled.length * ROW - (ROW - BOX.height) };
}

function line(from: BodyBox | undefined, to: BodyBox | undefined): BodyLine[] {
  return from && to ? [{ from, to }] : [];
}

/** For each node the length of the longest path to it. Nodes read only those before them. */
function rowsOf(nodes: readonly BodyNode[]): number[] {
  const rows: number[] = [];
  for (const node of nodes) rows.push(1 + Math.max(-1, ...node.reads.map((read) => rows[read] ?? 0)));
  return rows;
}
