import { expect, test } from "vitest";
import { Asking } from "./asking";

test("one request at a time is made, and it is busy until the answer is there", async () => {
  const asking = new Asking();
  let answer: (value: number) => void = () => undefined;
  const first = asking.ask(() => new Promise<number>((resolve) => (answer = resolve)));
  expect([asking.isBusy.value, await asking.ask(() => Promise.resolve(2))]).toEqual([true, null]);
  answer(1);
  expect([await first, asking.isBusy.value]).toEqual([1, false]);
});

test("an error is kept until the next request", async () => {
  const asking = new Asking();
  expect(await asking.ask(() => Promise.reject(new Error("a run is measuring")))).toBeNull();
  expect([asking.error.value?.message, asking.isBusy.value]).toEqual(["a run is measuring", false]);
  expect([await asking.ask(() => Promise.resolve(3)), asking.error.value]).toEqual([3, null]);
});
