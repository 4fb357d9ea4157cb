import { describe, expect, test } from "vitest";
import { trace } from "../../../test/traces";
import type { TraceChunk } from "../protocol";
import { CHUNKS_KEPT, ChunkStore } from "./chunk_store";
import { chunkOf, frameAt } from "./frames";

const { facts, chunks } = trace;

/** A server whose answers come when the test says so. */
class Server {
  readonly asked: number[] = [];
  readonly failures: unknown[] = [];
  private readonly waiting = new Map<number, { give: (chunk: TraceChunk) => void; refuse: (error: unknown) => void }>();
  readonly store = new ChunkStore(
    (number) => {
      this.asked.push(number);
      return new Promise((give, refuse) => this.waiting.set(number, { give, refuse }));
    },
    () => (this.arrivals += 1),
    (error) => this.failures.push(error),
  );
  arrivals = 0;

  get pending(): number[] {
    return [...this.waiting.keys()];
  }

  async answer(number: number, error?: Error): Promise<void> {
    const one = this.waiting.get(number);
    this.waiting.delete(number);
    if (error) one?.refuse(error);
    else one?.give({ ...(chunks[number % chunks.length] as TraceChunk), first: number * facts.chunk_steps });
    await new Promise((resolve) => setTimeout(resolve));
  }
}

function orders(items: readonly number[]): number[][] {
  if (items.length < 2) return [[...items]];
  return items.flatMap((item) => orders(items.filter((other) => other !== item)).map((rest) => [item, ...rest]));
}

describe("every order of arrival gives the same frames", () => {
  const steps = [...Array(facts.steps).keys()];
  const straight = steps.map((step) => frameAt(facts, chunks[chunkOf(facts, step)] as TraceChunk, step));
  test.each(orders([0, 1, 2]).map((order) => [order.join(" "), order] as const))("%s", async (_, order) => {
    const fetched = new Map<number, (chunk: TraceChunk) => void>();
    const store = new ChunkStore((number) => new Promise((give) => fetched.set(number, give)), () => undefined, () => undefined);
    for (const number of order) store.want([number]);
    store.want(order);
    while (order.some((number) => !store.get(number))) {
      const next = [...order].reverse().find((number) => fetched.has(number));
      if (next === undefined) throw new Error("nothing is on its way");
      fetched.get(next)?.(chunks[next] as TraceChunk);
      fetched.delete(next);
      await new Promise((resolve) => setTimeout(resolve));
    }
    for (const step of steps.filter((one) => chunkOf(facts, one) < 3)) {
      expect(frameAt(facts, store.get(chunkOf(facts, step)) as TraceChunk, step)).toEqual(straight[step]);
    }
  });
});

test("memory is bounded however many chunks are visited: old chunks are dropped, and fetched again when they are needed", async () => {
  const server = new Server();
  for (let number = 0; number < 200; number++) {
    server.store.want([number]);
    await server.answer(number);
    expect(server.store.size).toBeLessThanOrEqual(CHUNKS_KEPT);
  }
  expect(server.store.get(199)).toBeDefined();
  expect(server.store.get(0)).toBeUndefined();
  server.store.want([0]);
  expect(server.asked.at(-1)).toBe(0);
  await server.answer(0);
  expect(server.store.get(0)?.first).toBe(0);
});

test("the chunks that are shown are not dropped", async () => {
  const server = new Server();
  server.store.want([0]);
  await server.answer(0);
  for (let number = 1; number < 50; number++) {
    server.store.want([0, number]);
    await server.answer(number);
  }
  expect(server.store.get(0)).toBeDefined();
});

test("dragging over a thousand chunks asks for those at the end, not for all", async () => {
  const server = new Server();
  for (let number = 0; number < 1000; number++) server.store.want([number, number + 1]);
  expect(server.pending).toHaveLength(2);
  for (const number of server.pending) await server.answer(number);
  expect(server.asked.length).toBeLessThan(6);
  expect(server.asked).toContain(999);
});

test("a chunk that cannot be fetched is reported once, and requested again only on demand", async () => {
  const server = new Server();
  server.store.want([3]);
  await server.answer(3, new Error("the server does not answer"));
  expect(server.failures).toEqual([new Error("the server does not answer")]);
  server.store.want([3]);
  expect(server.asked).toEqual([3]);
  server.store.forgive();
  server.store.want([3]);
  await server.answer(3);
  expect(server.store.get(3)).toBeDefined();
  expect(server.arrivals).toBe(2);
});
