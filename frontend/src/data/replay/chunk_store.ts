// The chunks of a trace that are in memory: those that are looked at, and some around. Others are fetched when they are asked
// for, in whatever order they come; the ones not looked at for longest are let go.

import type { TraceChunk } from "../protocol";

/** Chunks in memory, at most. */
export const CHUNKS_KEPT = 12;
const AT_ONCE = 2;

export class ChunkStore {
  private readonly known = new Map<number, TraceChunk>();
  private readonly coming = new Set<number>();
  private readonly lost = new Set<number>();
  private wanted: readonly number[] = [];

  /** `arrived` is called after each chunk, `failed` with why one cannot be had. */
  constructor(
    private readonly fetchChunk: (number: number) => Promise<TraceChunk>,
    private readonly arrived: () => void,
    private readonly failed: (error: unknown) => void,
  ) {}

  /** How many are in memory. */
  get size(): number {
    return this.known.size;
  }

  get(number: number): TraceChunk | undefined {
    return this.known.get(number);
  }

  /** Have these chunks, the first of them soonest; what was wanted before and is not on its way is forgotten. */
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

  /** Ask again for what could not be had. */
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
