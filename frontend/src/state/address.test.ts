import { expect, test } from "vitest";
import { formatPlace, parsePlace } from "./address";

test("an address holds what is selected, and gives it back", () => {
  const place = { model: "m1", run: "r1", selection: { kind: "box", box: 7 }, overlay: "cost" } as const;
  expect(formatPlace(place)).toBe("?model=m1&run=r1&node=7&overlay=cost");
  expect(parsePlace(formatPlace(place))).toEqual({ ...place, sample: null });
  expect(parsePlace("?model=m1&part=p1&overlay=nonsense")).toMatchObject({ selection: { kind: "partition", id: "p1" }, overlay: "target" });
  expect(parsePlace("?node=abc").selection).toEqual({ kind: "none" });
  expect(formatPlace({ model: null, run: null, selection: { kind: "none" }, overlay: "target" })).toBe("");
});
