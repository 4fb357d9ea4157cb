import { expect, test } from "vitest";
import type { TargetStep, Worth } from "../protocol";
import { stepText, worthText } from "./worth";

const alone: TargetStep = { targets: ["tvm"], total_s: 2e-3, gain_s: null, is_known: true };
const both: TargetStep = { targets: ["tvm", "openvino"], total_s: 1.5e-3, gain_s: 0.5e-3, is_known: false };
const worth = (changes: Partial<Worth>): Worth => ({ run: "r", sets: [], steps: [alone], as_good: ["tvm"], is_whole: true, ...changes });

test("one toolchain that is as good is said first", () => {
  expect(worthText(worth({}))).toBe("one toolchain alone is as good here: tvm");
  const nearly = { ...both, total_s: 1.99e-3, gain_s: 1e-5 };
  expect(worthText(worth({ steps: [alone, nearly] }))).toBe("one toolchain alone is as good here: tvm; the best mix saves 10.0 µs, less than a hundredth");
  expect(worthText(worth({ steps: [alone, both], as_good: ["tvm", "openvino"] }))).toBe("2 toolchains are worth having here: tvm + openvino");
  expect(worthText(worth({ steps: [], as_good: [] }))).toBe("no set of targets runs the whole model");
});

test("each further target says what it brings", () => {
  expect(stepText(alone)).toBe("tvm: predicted 2.00 ms");
  expect(stepText(both)).toBe("tvm + openvino: predicted 1.50 ms (an estimate), 0.50 ms less than with one target fewer");
});
