// Looks a large layout up on the server, which keeps layouts, while the worker computes it; the first answer is taken. The key of a
// layout is a digest of everything that it depends on, so that a layout which is found also fits.

import { nextFrame } from "../../base/long_work";
import { api } from "../../data/api";
import type { LayoutJson } from "../../data/protocol";
import type { LayoutRequest, LayoutResult } from "./core";
import { requestLayout, Superseded } from "./request";

/** To be increased when equal requests get another layout. */
const VERSION = 1;
/** Smaller graphs are laid out faster than the server answers. */
const LEAST_BOXES = 150;
/** Faster layouts are not worth keeping. */
const SLOW_MS = 120;

let newest = 0;

/** The layout of a graph of a model. Rejects with `Superseded` where a newer layout was requested, however late the answers arrive. */
export async function findLayout(model: string, request: LayoutRequest): Promise<LayoutResult> {
  const mine = ++newest;
  const result = await (request.boxes.length / 2 < LEAST_BOXES ? requestLayout(request) : first(model, request));
  if (mine !== newest) throw new Superseded();
  return result;
}

async function first(model: string, request: LayoutRequest): Promise<LayoutResult> {
  const key = digest(request);
  const start = performance.now();
  const kept = api.layout(model, key).then((json) => (json ? asLayout(json, request) : undefined));
  const made = requestLayout(request);
  const found = kept.catch(() => undefined).then((layout) => layout ?? made);
  void Promise.all([made, kept]).then(async ([layout, known]) => {
    if (known || performance.now() - start <= SLOW_MS) return;
    await nextFrame();
    const json = asJson(layout);
    await nextFrame();
    await api.keepLayout(model, key, json);
  }).catch(() => undefined);
  return Promise.race([made, found]);
}

/** The digest of a request: sixteen hexadecimal digits. */
export function digest({ boxes, labels, edges }: LayoutRequest): string {
  let [a, b] = [0x9e3779b9 ^ VERSION, 0x85ebca6b];
  const mix = (word: number): void => {
    a = Math.imul(a ^ word, 0x9e3779b1);
    a ^= a >>> 15;
    b = Math.imul(b ^ word, 0xc2b2ae3d) + a;
    b ^= b >>> 13;
  };
  for (const { buffer, byteOffset, byteLength } of [boxes, labels, edges]) {
    mix(byteLength);
    for (const word of new Uint32Array(buffer, byteOffset, byteLength / 4)) mix(word);
  }
  return [a, b].map((half) => (half >>> 0).toString(16).padStart(8, "0")).join("");
}

/** A layout from the server; undefined where it is damaged, or not one of this request. */
export function asLayout({ centres, points, offsets, labels }: LayoutJson, request: LayoutRequest): LayoutResult | undefined {
  const edges = request.edges.length / 2;
  const isWhole = centres.length === request.boxes.length && offsets.length === edges + 1 && labels.length === 2 * edges;
  const isInOrder = offsets.every((offset, i) => offset % 2 === 0 && (i === 0 ? offset === 0 : offset >= (offsets[i - 1] ?? 0) + 4));
  if (!isWhole || !isInOrder || offsets[edges] !== points.length) return undefined;
  return {
    centres: Float64Array.from(centres),
    points: Float64Array.from(points),
    offsets: Uint32Array.from(offsets),
    labels: Float64Array.from(labels, (value) => value ?? NaN),
  };
}

/** A layout for the server, rounded to a hundredth of a pixel. */
export function asJson({ centres, points, offsets, labels }: LayoutResult): LayoutJson {
  const short = (value: number): number => Math.round(value * 100) / 100;
  return {
    centres: Array.from(centres, short),
    points: Array.from(points, short),
    offsets: [...offsets],
    labels: Array.from(labels, (value) => (Number.isNaN(value) ? null : short(value))),
  };
}
