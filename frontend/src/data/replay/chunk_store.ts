// Keeps the chunks of a trace that are shown, and some around them, in memory. Missing chunks are fetched, and may arrive in any
// order; the least recently used ones are dropped.

import type { TraceChunk } from "../protocol";

/** The most chunks in memory. */
export const CHUNKS_KEPT = 12;
const AT_ONCE = 2;

export class ChunkStore {
  private readonly known = new Map<number, TraceChunk>();
  private readonly coming = new Set<number>();
  private readonly lost = new Set<number>();
  private wanted: readonly number[] = [];

  /** `arrived` is called after each chunk, and `failed` with the error where one cannot be fetched. */
  constructor(
    private readonly fetchChunk: (number: number) => Promise<TraceChunk>,
    private readonly arrived: () => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** The number of chunks in memory. */
  get size(): number {
    return this.known.size;
  }

  get(number: number): TraceChunk | undefined {
    return this.known.get(number);
  }

  /** Fetch these chunks, the first of them first. Chunks that were wanted before and are not being fetched yet are dropped. */
  want(numbers: readonly number[]): void {
    this.wanted = numbers;
    for (const number of [...numbers].reverse()) {
      const chunk = this.known.get(number);
      if (!chunk) continue;
      this.known.delete(number);
      this.known.set(number, chunk);
    }
    this.fetchNext();
  }

  /** Let chunks that failed be fetched again. */
  forgive(): void {
    this.lost.clear();
  }

  private fetchNext(): void {
    for (const number of this.wanted) {
      if (this.coming.size >= AT_ONCE) return;
      if (this.known.has(number) || this.coming.has(number) || this.lost.has(number)) continue;
      void this.fetch(number);
    }
  }

  private async fetch(number: number): Promise<void> {
    this.coming.add(number);
    try {
      this.keep(number, await this.fetchChunk(number));
    } catch (error) {
      this.lost.add(number);
      this.failed(error);
    } finally {
      this.coming.delete(number);
    }
    this.arrived();
    this.fetchNext();
  }

  private keep(number: number, chunk: TraceChunk): void {
    this.known.set(number, chunk);
    for (const old of this.known.keys()) {
      if (this.known.size <= CHUNKS_KEPT) return;
      if (!this.wanted.includes(old)) this.known.delete(old);
    }
  }
}
