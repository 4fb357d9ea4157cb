import { afterEach, beforeEach, expect, test, vi } from "vitest";
import { begin, during, idle, pending } from "./idle";

beforeEach(() => void vi.useFakeTimers());
afterEach(() => void vi.useRealTimers());

test("idle waits for all that is pending, and for what follows from it", async () => {
  let isIdle = false;
  const first = begin("first");
  const waited = idle().then(() => (isIdle = true));
  const second = begin("second");
  first();
  first();
  await vi.advanceTimersByTimeAsync(1000);
  expect(pending()).toEqual(["second"]);
  expect(isIdle).toBe(false);
  second();
  const third = begin("third");
  await vi.advanceTimersByTimeAsync(1000);
  expect(isIdle).toBe(false);
  third();
  await vi.advanceTimersByTimeAsync(1000);
  await waited;
});

test("work that failed is no longer pending", async () => {
  await expect(during("bad", Promise.reject(new Error("no")))).rejects.toThrow("no");
  expect(pending()).toEqual([]);
});
