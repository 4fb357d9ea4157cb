import { afterEach, expect, test, vi } from "vitest";
import { eachOf, overFrames, type LongWork } from "./long_work";

function* sum(upTo: number): LongWork<number> {
  let all = 0;
  yield* eachOf(Array.from({ length: upTo }, (_, i) => i + 1), (one, index) => {
    expect(index).toBe(one - 1);
    all += one;
  });
  return all;
}

afterEach(() => vi.restoreAllMocks());

test("work over frames pauses when its share of a frame is used up, and only then", async () => {
  let now = 1e9; // later than whatever has worked over frames before
  vi.spyOn(performance, "now").mockImplementation(() => (now += 5));
  let pauses = 0;
  const pause = (): Promise<void> => {
    pauses += 1;
    return Promise.resolve();
  };
  expect(await overFrames(sum(640), pause)).toBe(205_120);
  expect(pauses).toBe(13);
  vi.spyOn(performance, "now").mockReturnValue(0);
  expect(await overFrames(sum(640), pause)).toBe(205_120);
  expect(pauses).toBe(13);
});

test("an exception that ends a pause ends the work", async () => {
  let now = 0;
  vi.spyOn(performance, "now").mockImplementation(() => (now += 50));
  const done: number[] = [];
  const work = eachOf(Array(640).keys(), (one) => done.push(one));
  await expect(overFrames(work, () => Promise.reject(new Error("another came")))).rejects.toThrow("another came");
  expect(done.length).toBe(16);
});
