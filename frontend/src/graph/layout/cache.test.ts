import { beforeEach, expect, test, vi } from "vitest";
import { inception, transformer } from "../../../test/graphs";
import { laidOut } from "../../../test/layouts";
import type { LayoutJson } from "../../data/protocol";
import { asJson, asLayout, digest } from "./cache";
import type { LayoutRequest, LayoutResult } from "./core";

const { request, result } = laidOut(transformer(12));

test("a kept layout comes back, to a hundredth of a pixel", () => {
  const back = asLayout(JSON.parse(JSON.stringify(asJson(result))) as LayoutJson, request);
  expect(back?.offsets).toEqual(result.offsets);
  for (const [i, value] of result.points.entries()) expect(back?.points[i]).toBeCloseTo(value, 1);
  expect([...(back?.labels ?? [])].filter(Number.isNaN).length).toBe([...result.labels].filter(Number.isNaN).length);
});

test("data that does not fit the graph is not read as its layout", () => {
  const good = asJson(result);
  const other = laidOut(inception(3)).request;
  expect(asLayout(good, other)).toBeUndefined();
  const spoilt: Partial<LayoutJson>[] = [
    { centres: good.centres.slice(2) },
    { points: good.points.slice(2) },
    { labels: [] },
    { offsets: good.offsets.map((offset) => offset + 1) },
    { offsets: [...good.offsets.slice(1), good.offsets.at(-1) ?? 0] },
  ];
  for (const change of spoilt) expect(asLayout({ ...good, ...change }, request)).toBeUndefined();
});

test("equal requests have one key, others another", () => {
  expect(digest(laidOut(transformer(12)).request)).toBe(digest(request));
  expect(digest(request)).toMatch(/^[0-9a-f]{16}$/);
  const keys = new Set([digest(request)]);
  for (const part of ["boxes", "labels", "edges"] as const) {
    for (const at of [0, 1, request[part].length - 1]) {
      const changed = request[part].slice();
      changed[at] = (changed[at] ?? 0) + 1;
      keys.add(digest({ ...request, [part]: changed }));
    }
  }
  expect(keys.size).toBe(10);
});

/** Answers of the server and the worker, given when the test says so. */
interface Answers {
  server: (json: LayoutJson | undefined) => void;
  worker: (layout: LayoutResult) => void;
}

let asked: Answers[] = [];
let kept: string[] = [];

function later<T>(): [Promise<T>, (value: T) => void] {
  let resolve: (value: T) => void = () => undefined;
  return [new Promise<T>((done) => (resolve = done)), (value) => resolve(value)];
}

beforeEach(() => {
  asked = [];
  kept = [];
  vi.resetModules();
  vi.doMock("./request", () => {
    class Superseded extends Error {}
    const requestLayout = (): Promise<LayoutResult> => {
      const [promise, worker] = later<LayoutResult>();
      const last = asked.at(-1);
      if (last) last.worker = worker;
      return promise;
    };
    return { Superseded, requestLayout };
  });
  vi.doMock("../../base/long_work", () => ({ nextFrame: () => Promise.resolve() }));
  vi.doMock("../../data/api", () => ({
    api: {
      layout: () => {
        const [promise, server] = later<LayoutJson | undefined>();
        asked.push({ server, worker: () => undefined });
        return promise;
      },
      keepLayout: (_: string, key: string) => Promise.resolve(void kept.push(key)),
    },
  }));
});

const elsewhere: LayoutRequest = { ...request, boxes: request.boxes.map((size) => size + 1) };

async function settled(promise: Promise<LayoutResult>): Promise<LayoutResult | string> {
  return promise.catch((error: Error) => error.constructor.name);
}

type Step = ["server" | "worker", 0 | 1];
const STEPS: Step[] = [["server", 0], ["worker", 0], ["server", 1], ["worker", 1]];

function orders(steps: Step[]): Step[][] {
  return steps.length <= 1 ? [steps] : steps.flatMap((step) => orders(steps.filter((one) => one !== step)).map((rest) => [step, ...rest]));
}

test.each(orders(STEPS).map((order) => ({ name: order.map(([who, which]) => `${who} ${which}`).join(", "), order })))("of two requests the newer one is answered: $name", async ({ order }) => {
  const { findLayout } = await import("./cache");
  const both = [settled(findLayout("m", elsewhere)), settled(findLayout("m", request))];
  for (const [who, which] of order) {
    if (who === "server") asked[which]?.server(undefined);
    else asked[which]?.worker(which === 1 ? result : { ...result, centres: new Float64Array() });
    await Promise.resolve();
  }
  expect(await Promise.all(both)).toEqual(["Superseded", result]);
});

test("the first answer is taken: a layout of the server that fits, or the worker's", async () => {
  const { findLayout } = await import("./cache");
  const fromServer = findLayout("m", request);
  asked[0]?.server(asJson(result));
  expect((await fromServer).centres.length).toBe(result.centres.length);
  const fromWorker = findLayout("m", request);
  asked[1]?.worker(result);
  expect(await fromWorker).toBe(result);
  const misfit = findLayout("m", request);
  asked[2]?.server({ ...asJson(result), labels: [] });
  asked[2]?.worker(result);
  expect(await misfit).toBe(result);
});

test("a layout that took long is sent to the server, one that came from there is not sent again", async () => {
  const { findLayout } = await import("./cache");
  const clock = vi.spyOn(performance, "now").mockReturnValueOnce(0).mockReturnValue(5000);
  const slow = findLayout("m", request);
  asked[0]?.server(undefined);
  asked[0]?.worker(result);
  await slow;
  await vi.waitFor(() => expect(kept).toEqual([digest(request)]));
  const known = findLayout("m", request);
  asked[1]?.server(asJson(result));
  asked[1]?.worker(result);
  await known;
  await new Promise((done) => setTimeout(done));
  expect(kept.length).toBe(1);
  clock.mockRestore();
});
