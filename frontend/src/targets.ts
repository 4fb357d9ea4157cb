// The colour and the letter of a target: stable by its name, whatever else is on the page.
// The hues are Okabe and Ito's, which colour-blind eyes tell apart; `strong` is the same hue, dark enough for white text.

export interface TargetLook {
  name: string;
  letter: string;
  /** Tints, lines and bars. */
  base: string;
  /** Badges: white text on it reads with a contrast of at least 4.5. */
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
  host: ["H", GREY],
};
const OTHERS = [ORANGE, YELLOW, SKY, BLUE];

/** How `name` looks; `letter` is the toolchain's own, where it is known. */
export function targetLook(name: string, letter?: string): TargetLook {
  const known = KNOWN[name];
  if (known) return { name, letter: known[0], ...known[1] };
  const hue = OTHERS[hash(name) % OTHERS.length] ?? GREY;
  const own = letter && letter !== "?" ? letter : name.slice(0, 1).toUpperCase();
  return { name, letter: own, ...hue };
}

/** A letter for a target that has none yet: of its name, then of the alphabet, and one that no other target has. */
export function freeLetter(name: string, taken: ReadonlySet<string>): string {
  const letters = [...name.toUpperCase(), ..."ABCDEFGIJKLMNOPQRSTUVWXYZ"].filter((letter) => /[A-Z]/.test(letter) && letter !== "H");
  return letters.find((letter) => !taken.has(letter)) ?? name.slice(0, 1).toUpperCase();
}

function hash(text: string): number {
  let value = 5381;
  for (const char of text) value = (value * 33 + (char.codePointAt(0) ?? 0)) >>> 0;
  return value;
}

type Stop = readonly [number, number, number];

const HEAT_LIGHT: readonly Stop[] = [[255, 247, 219], [250, 196, 110], [206, 92, 78], [92, 24, 84]];
const HEAT_DARK: readonly Stop[] = [[38, 44, 66], [86, 76, 130], [190, 96, 110], [250, 200, 90]];
const DOUBT_LIGHT: readonly Stop[] = [[196, 224, 234], [98, 164, 194], [20, 60, 110]];
const DOUBT_DARK: readonly Stop[] = [[44, 70, 84], [70, 140, 176], [190, 232, 248]];

/** A ramp by share of the total (0 to 1), from what the page's ground is like to what stands out: its lightness alone orders it, so that every eye reads it. */
export function heat(share: number, isDark: boolean): string {
  return onRamp(isDark ? HEAT_DARK : HEAT_LIGHT, Math.sqrt(clamped(share)));
}

/** A ramp by doubt (0 is sure, 1 is unsure), ordered by its lightness alone; another hue than heat, so that one is not taken for the other. */
export function doubt(value: number, isDark: boolean): string {
  return onRamp(isDark ? DOUBT_DARK : DOUBT_LIGHT, clamped(value));
}

function onRamp(stops: readonly Stop[], t: number): string {
  const place = t * (stops.length - 1);
  const low = Math.min(Math.floor(place), stops.length - 2);
  const [from, to] = [stops[low], stops[low + 1]];
  if (!from || !to) return "transparent";
  const mixed = from.map((value, i) => Math.round(value + (place - low) * ((to[i] ?? value) - value)));
  return `rgb(${mixed.join(",")})`;
}

function clamped(value: number): number {
  return Math.max(0, Math.min(1, value));
}
