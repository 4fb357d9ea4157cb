import { expect, test } from "vitest";
import cases from "../../../test/target_colours.json";
import { channels } from "../../base/colour";
import { targetStyles, type Wanted } from "./target_style";

const SHIPPED = ["onnxruntime", "openvino", "tvm", "ncnn", "tensorrt", "tensorrt_rtx", "onednn", "blas", "openvino@bf16", "onnxruntime@int8-dynamic", "onnxruntime@nchw16c", "ncnn@nchw16c", "tvm@fusion", "tensorrt@fp16", "tensorrt_rtx@fp16", "host"];
const OUTSIDE: Wanted[] = [{ name: "npx", letter: "N" }, { name: "numpy", letter: "P" }, { name: "rknn", letter: "R" }, { name: "hailo", letter: "H" }, { name: "broken", letter: "!" }, { name: "zzz", letter: "?" }, { name: "constructor" }];

function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = channels(colour).map((value) => ((value) => (value <= 0.04045 ? value / 12.92 : ((value + 0.055) / 1.055) ** 2.4))(value / 255));
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

test("drawings of the command line and the page give targets the same colours", () => {
  for (const colours of cases) {
    const styles = targetStyles(Object.keys(colours).map((name) => ({ name })));
    expect(Object.fromEntries([...styles].map(([name, { base }]) => [name, base]))).toEqual(colours);
  }
});

test("no two targets have the same colour or the same letter, whatever letters they want", () => {
  const many = Array.from({ length: 300 }, (_, i) => ({ name: `chip${i}`, letter: "N" }));
  for (const listed of [OUTSIDE, [...SHIPPED.map((name) => ({ name })), ...OUTSIDE], many]) {
    const alone = [...targetStyles(listed).values()];
    const all = [...alone, ...targetStyles(SHIPPED.filter((name) => !alone.some((one) => one.name === name)).map((name) => ({ name }))).values()];
    for (const key of ["letter", "base"] as const) expect(new Set(all.map((one) => one[key])).size).toBe(all.length);
    if (listed !== many) expect(new Set(all.map((one) => one.strong)).size).toBe(all.length);
  }
});

test("a target that is met later takes nothing of those before it, which keep what they have", () => {
  const before = targetStyles([{ name: "npx", letter: "N" }, { name: "tvm" }]);
  const later = targetStyles([{ name: "xpn" }, { name: "npx", letter: "Z" }], before);
  expect([...later.keys()].sort()).toEqual(["npx", "tvm", "xpn"]);
  expect(later.get("npx")).toBe(before.get("npx"));
  expect(later.get("xpn")?.letter).not.toBe(later.get("npx")?.letter);
});

test("a toolchain has the letter that it wants where that is free", () => {
  expect(targetStyles([{ name: "gamma", letter: "M" }]).get("gamma")?.letter).toBe("M");
  expect(targetStyles([{ name: "mine", letter: "O" }]).get("mine")?.letter).toBe("M");
});

test("the order in which targets are listed does not matter", () => {
  expect(targetStyles([...OUTSIDE].reverse())).toEqual(targetStyles(OUTSIDE));
});

test("white text on a badge can be read", () => {
  const names = [...SHIPPED, ...Array.from({ length: 60 }, (_, i) => `chip${i}`)];
  for (const { strong } of targetStyles(names.map((name) => ({ name }))).values()) expect(1.05 / (luminance(strong) + 0.05)).toBeGreaterThan(4.5);
});
