// The colour and the letter of a target, which depend on its name alone. The hues are those of Okabe and Ito, which colour-blind
// people can tell apart; `strong` is the same hue, dark enough for white text.

export interface TargetStyle {
  name: string;
  letter: string;
  /** For tints, lines and bars. */
  base: string;
  /** For badges: white text on it has a contrast of at least 4.5. */
  strong: string;
}

interface Hue {
  base: string;
  strong: string;
}

const BLUE: Hue = { base: "#0072b2", strong: "#006ba6" };
const VERMILLION: Hue = { base: "#d55e00", strong: "#b34f00" };
const GREEN: Hue = { base: "#009e73", strong: "#007a59" };
const PURPLE: Hue = { base: "#b8639a", strong: "#9c4a80" };
const ORANGE: Hue = { base: "#e69f00", strong: "#8f6200" };
const SKY: Hue = { base: "#56b4e9", strong: "#22709c" };
const YELLOW: Hue = { base: "#c9b800", strong: "#6f6600" };
const GREY: Hue = { base: "#868e99", strong: "#5f6672" };

const KNOWN: Record<string, [string, Hue]> = {
  onnxruntime: ["O", VERMILLION],
  openvino: ["V", GREEN],
  tvm: ["T", PURPLE],
  ncnn: ["N", BLUE],
  tensorrt: ["R", SKY],
  "openvino@bf16": ["B", YELLOW],
  "onnxruntime@int8-dynamic": ["Q", ORANGE],
  host: ["H", GREY],
};
const OTHERS = [ORANGE, YELLOW, SKY, BLUE];

/** The style of a target; `letter` is the toolchain's own, where it is known. */
export function targetStyle(name: string, letter?: string): TargetStyle {
  const known = KNOWN[name];
  if (known) return { name, letter: known[0], ...known[1] };
  const hue = OTHERS[hash(name) % OTHERS.length] ?? GREY;
  const own = letter && letter !== "?" ? letter : name.slice(0, 1).toUpperCase();
  return { name, letter: own, ...hue };
}

/** A letter for a target that has none: one that no other target has, from its name or else from the alphabet. */
export function freeLetter(name: string, taken: ReadonlySet<string>): string {
  const letters = [...name.toUpperCase(), ..."ABCDEFGIJKLMNOPQRSTUVWXYZ"].filter((letter) => /[A-Z]/.test(letter) && letter !== "H");
  return letters.find((letter) => !taken.has(letter)) ?? name.slice(0, 1).toUpperCase();
}

function hash(text: string): number {
  let value = 5381;
  for (const char of text) value = (value * 33 + (char.codePointAt(0) ?? 0)) >>> 0;
  return value;
}
