import { expect, test } from "vitest";
import { formatPlace, parsePlace } from "./address";

test("an address holds what is selected, and gives it back", () => {
  const bare = { of: null, plan: "", against: null, step: 0, group: null, open: [] };
  const place = { model: "m1", run: "r1", selection: { kind: "box", box: 7 }, overlay: "cost", ...bare } as const;
  expect(formatPlace(place)).toBe("?model=m1&run=r1&node=7&overlay=cost");
  expect(parsePlace(formatPlace(place))).toEqual({ ...place, sample: null });
  expect(parsePlace("?model=m1&part=p1&overlay=nonsense")).toMatchObject({ selection: { kind: "partition", id: "p1" }, overlay: "target" });
  const several = { ...place, selection: { kind: "boxes", boxes: [2, 3, 9] } } as const;
  expect(formatPlace(several)).toBe("?model=m1&run=r1&nodes=2-3.9&overlay=cost");
  expect(parsePlace(formatPlace(several))).toEqual({ ...several, sample: null });
  expect(parsePlace("?nodes=4").selection).toEqual({ kind: "box", box: 4 });
  expect(parsePlace("?nodes=4-x").selection).toEqual({ kind: "none" });
  expect(parsePlace("?node=abc").selection).toEqual({ kind: "none" });
  expect(formatPlace({ model: null, run: null, selection: { kind: "none" }, overlay: "target", ...bare })).toBe("");
  const compared = { ...place, overlay: "difference", plan: "r2", against: "baseline:tvm" } as const;
  expect(formatPlace(compared)).toBe("?model=m1&run=r1&node=7&overlay=difference&plan=r2&against=baseline%3Atvm");
  expect(parsePlace(formatPlace(compared))).toEqual({ ...compared, sample: null });
  expect(parsePlace(formatPlace({ ...place, overlay: "coverage", of: "openvino" }))).toMatchObject({ overlay: "coverage", of: "openvino" });
  expect(formatPlace({ ...place, of: "openvino" })).not.toContain("of=");
  expect(parsePlace(formatPlace({ ...place, overlay: "search", step: 41 }))).toMatchObject({ overlay: "search", step: 41 });
  const folded = { ...place, group: "repeats", open: ["2.8", "2.96"] } as const;
  expect(parsePlace(formatPlace(folded))).toEqual({ ...folded, sample: null });
  expect(parsePlace("?group=nonsense").group).toBeNull();
  for (const wrong of ["-3", "x", "1e999"]) expect(parsePlace(`?step=${wrong}`).step).toBe(0);
});
