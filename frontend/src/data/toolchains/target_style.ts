// The colours and the letters of targets; no two have the same. Those of this program have fixed ones: the hues of the first are those of
// Okabe and Ito, which colour-blind people can tell apart. Another target has the letter that it wants, and a colour by its name, or free
// ones where these are taken. Drawings of the command line choose colours by the same rule (`collage_core/rewrite/export/target_colours.py`).

import { channels, luminance } from "../../base/colour";

export interface TargetStyle {
  name: string;
  letter: string;
  /** For tints, lines and bars. */
  base: string;
  /** For badges: white text on it has a contrast of at least 4.5. */
  strong: string;
}

/** Target → its letter, its colour, and the same hue, dark enough for white text, where that is chosen by hand. */
const KNOWN: ReadonlyMap<string, readonly [letter: string, base: string, strong?: string]> = new Map(Object.entries<[string, string, string?]>({
  onnxruntime: ["O", "#d55e00", "#b34f00"],
  openvino: ["V", "#009e73", "#007a59"],
  tvm: ["T", "#b8639a", "#9c4a80"],
  ncnn: ["N", "#0072b2", "#006ba6"],
  tensorrt: ["E", "#56b4e9", "#22709c"],
  tensorrt_rtx: ["R", "#0bcb0b"],
  onednn: ["D", "#766f2d"],
  blas: ["L", "#e49581"],
  "openvino@bf16": ["B", "#c9b800", "#6f6600"],
  "onnxruntime@int8-dynamic": ["Q", "#e69f00", "#8f6200"],
  "onnxruntime@nchw16c": ["K", "#f31659"],
  "ncnn@nchw16c": ["P", "#476af5"],
  "onnxruntime:cuda:0": ["C", "#8f2d00"],
  "onnxruntime@tf32:cuda:0": ["U", "#ff8a3c"],
  "onnxruntime@graph:cuda:0": ["G", "#b3541e"],
  "tvm:cuda:0": ["W", "#7b4397"],
  "tensorrt:cuda:0": ["Y", "#2f6fa8"],
  "tensorrt_rtx:cuda:0": ["Z", "#4a7a1f"],
  "openvino:gpu:0": ["A", "#12806a"],
  "openvino:npu:0": ["I", "#2f7a33"],
  "onnxruntime@cores:cpu:0": ["S", "#b58c6a"],
  "tvm@fusion": ["F", "#6f16f3"],
  "tensorrt@fp16": ["J", "#ce6ef7"],
  "tensorrt_rtx@fp16": ["X", "#85bc4e"],
  host: ["H", "#868e99", "#5f6672"],
}));

/** Colours for other targets, far from each other and from those of `KNOWN`. */
const SPARE = [
  "#f316c7", "#9b3b45", "#f31616", "#35d4d4", "#cb0b7e", "#8472ca", "#cac172", "#0bcb6b", "#9b6008", "#1d8787", "#f76e89", "#a50bcb",
  "#3c762d", "#f76ece", "#923b9b", "#d44535", "#92cb0b", "#269b08", "#f7b26e", "#1685f3", "#2d6076", "#1643f3", "#90c7d5", "#d590a5",
];
const STEP = 0x9e3779b1;
/** After those of its name: the letters that look like no other. */
const LETTERS = [..."ABCDEFGIJKLMNOPQRSTUVWXYZ\u0393\u0394\u0398\u039b\u039e\u03a0\u03a3\u03a6\u03a8\u03a9"];

/** A target, and the letter that its toolchain wants; "?" or nothing where it wants none. */
export interface Wanted {
  name: string;
  letter?: string | undefined;
}

/** The styles of `targets` by name, whatever their order, beside those in `known`, which stay. */
export function targetStyles(targets: readonly Wanted[], known: ReadonlyMap<string, TargetStyle> = new Map()): Map<string, TargetStyle> {
  const made = new Map(known);
  const ours = [...KNOWN.values()];
  const letters = new Set([...ours.map(([letter]) => letter), ...[...known.values()].map(({ letter }) => letter)]);
  const colours = new Set([...ours.map(([, base]) => base), ...[...known.values()].map(({ base }) => base)]);
  for (const { name, letter: wanted } of [...targets].sort((a, b) => (a.name < b.name ? -1 : 1))) {
    if (made.has(name)) continue;
    const [letter, base, strong] = KNOWN.get(name) ?? [free(lettersFor(name, wanted), letters), free(coloursFor(name), colours)];
    letters.add(letter);
    colours.add(base);
    made.set(name, { name, letter, base, strong: strong ?? darkened(base) });
  }
  return made;
}

function free<T>(wanted: Iterable<T>, taken: ReadonlySet<T>): T {
  for (const one of wanted) if (!taken.has(one)) return one;
  throw new Error("there is always one more");
}

/** The letters that a target may have, the best first, without end. */
function* lettersFor(name: string, wanted = ""): Generator<string> {
  if (/^[A-Z]$/.test(wanted)) yield wanted;
  yield* [...name.toUpperCase()].filter((letter) => /^[A-Z]$/.test(letter));
  yield* LETTERS;
  for (let round = 2; ; round += 1) yield* LETTERS.map((letter) => `${letter}${round}`);
}

/** The colours that a target may have: spare ones, from one that depends on its name on, and then others without end. */
function* coloursFor(name: string): Generator<string> {
  let start = 5381;
  for (const char of name) start = (start * 33 + (char.codePointAt(0) ?? 0)) >>> 0;
  yield* SPARE.map((_, i) => SPARE[(start + i) % SPARE.length] ?? "");
  for (;;) {
    start = (start + STEP) >>> 0;
    yield `#${[25, 16, 8].map((shift) => (64 + ((start >>> shift) & 127)).toString(16).padStart(2, "0")).join("")}`;
  }
}

const CONTRAST = 4.6;

/** The colour, made as dark as white text on it needs. */
function darkened(colour: string): string {
  const rgb = channels(colour);
  let share = 1;
  const darker = (): string => `#${rgb.map((value) => Math.floor(value * share).toString(16).padStart(2, "0")).join("")}`;
  while (1.05 / (luminance(darker()) + 0.05) < CONTRAST) share -= 0.02;
  return darker();
}
