import { expect, test } from "vitest";
import { formatAddress, parseAddress } from "./address";

test("an address holds the selection, and gives it back", () => {
  const bare = { of: null, plan: "", against: null, step: 0, group: null, open: [], file: null };
  const address = { model: "m1", run: "r1", selection: { kind: "box", box: 7 }, overlay: "cost", ...bare } as const;
  expect(formatAddress(address)).toBe("?model=m1&run=r1&node=7&overlay=cost");
  expect(parseAddress(formatAddress(address))).toEqual({ ...address, sample: null });
  expect(parseAddress("?model=m1&part=p1&overlay=nonsense")).toMatchObject({ selection: { kind: "partition", id: "p1" }, overlay: "target" });
  const several = { ...address, selection: { kind: "boxes", boxes: [2, 3, 9] } } as const;
  expect(formatAddress(several)).toBe("?model=m1&run=r1&nodes=2-3.9&overlay=cost");
  expect(parseAddress(formatAddress(several))).toEqual({ ...several, sample: null });
  expect(parseAddress("?nodes=4").selection).toEqual({ kind: "box", box: 4 });
  expect(parseAddress("?nodes=4-x").selection).toEqual({ kind: "none" });
  expect(parseAddress("?node=abc").selection).toEqual({ kind: "none" });
  expect(formatAddress({ model: null, run: null, selection: { kind: "none" }, overlay: "target", ...bare })).toBe("");
  const compared = { ...address, overlay: "difference", plan: "r2", against: "baseline:tvm" } as const;
  expect(formatAddress(compared)).toBe("?model=m1&run=r1&node=7&overlay=difference&plan=r2&against=baseline%3Atvm");
  expect(parseAddress(formatAddress(compared))).toEqual({ ...compared, sample: null });
  expect(parseAddress(formatAddress({ ...address, overlay: "coverage", of: "openvino" }))).toMatchObject({ overlay: "coverage", of: "openvino" });
  expect(formatAddress({ ...address, of: "openvino" })).not.toContain("of=");
  expect(parseAddress(formatAddress({ ...address, overlay: "search", step: 41 }))).toMatchObject({ overlay: "search", step: 41 });
  const folded = { ...address, group: "repeats", open: ["2.8", "2.96"] } as const;
  expect(parseAddress(formatAddress(folded))).toEqual({ ...folded, sample: null });
  for (const file of ["", "3.then_branch"]) expect(parseAddress(formatAddress({ ...address, file })).file).toBe(file);
  expect(parseAddress("?group=nonsense").group).toBeNull();
  for (const wrong of ["-3", "x", "1e999"]) expect(parseAddress(`?step=${wrong}`).step).toBe(0);
});
