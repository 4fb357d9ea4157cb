import { beforeEach, expect, test, vi } from "vitest";
import type { LayoutRequest, LayoutResult } from "./core";

/** A worker that answers when the test says so. */
class SlowWorker {
  static made: SlowWorker[] = [];
  onmessage: ((message: { data: LayoutResult }) => void) | undefined;
  onerror: ((event: { message: string }) => void) | undefined;
  isEnded = false;

  constructor() {
    SlowWorker.made.push(this);
  }

  postMessage(): void {
    void this.isEnded;
  }

  terminate(): void {
    this.isEnded = true;
  }
}

const request = {} as LayoutRequest;
const result = {} as LayoutResult;

beforeEach(() => {
  SlowWorker.made = [];
  vi.resetModules();
  vi.stubGlobal("Worker", SlowWorker);
});

test("the newest request wins: the one before is ended and reports that", async () => {
  const { requestLayout, Superseded } = await import("./request");
  const first = requestLayout(request);
  const second = requestLayout(request);
  await expect(first).rejects.toBeInstanceOf(Superseded);
  expect(SlowWorker.made.map((worker) => worker.isEnded)).toEqual([true, false]);
  SlowWorker.made[1]?.onmessage?.({ data: result });
  await expect(second).resolves.toBe(result);
});

test("a worker that has answered is used again", async () => {
  const { requestLayout } = await import("./request");
  for (let i = 0; i < 2; i++) {
    const answer = requestLayout(request);
    SlowWorker.made[0]?.onmessage?.({ data: result });
    await answer;
  }
  expect(SlowWorker.made.length).toBe(1);
});

test("a worker that was started beforehand does the layout", async () => {
  const { prepareLayout, requestLayout } = await import("./request");
  prepareLayout();
  prepareLayout();
  const answer = requestLayout(request);
  expect(SlowWorker.made.length).toBe(1);
  SlowWorker.made[0]?.onmessage?.({ data: result });
  await expect(answer).resolves.toBe(result);
});

test("a layout that fails says what happened", async () => {
  const { requestLayout } = await import("./request");
  const answer = requestLayout(request);
  SlowWorker.made[0]?.onerror?.({ message: "too deep" });
  await expect(answer).rejects.toThrow("the layout stopped: too deep");
});
