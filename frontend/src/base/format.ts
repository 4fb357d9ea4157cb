// Numbers as text, always with their units. Pure.

const MINUS = "\u2212";

/** Seconds for a person: "1.24 s", "20.3 ms", "0.50 ms", "84.2 µs", "3.00 ns"; from an hour on "1.50 h". */
export function duration(seconds: number): string {
  const [value, unit] = scaled(seconds);
  return `${value} ${unit}`;
}

/** A time that a person waited: "0.3 s", "12 s", "2 min 05 s", "1 h 12 min". */
export function elapsed(seconds: number): string {
  if (seconds < 0) return `${MINUS}${elapsed(-seconds)}`;
  if (seconds < 9.95) return `${seconds.toFixed(1)} s`;
  const whole = Math.round(seconds);
  if (whole < 60) return `${whole} s`;
  if (whole < 3600) return `${Math.floor(whole / 60)} min ${String(whole % 60).padStart(2, "0")} s`;
  return `${grouped(plain(Math.floor(whole / 3600)))} h ${String(Math.floor((whole % 3600) / 60)).padStart(2, "0")} min`;
}

/** A difference of seconds, with its sign: "+0.41 ms", "−84 µs", "±0 ms". */
export function signedDuration(seconds: number): string {
  if (Math.abs(seconds) < 0.5e-9) return "±0 ms";
  return `${seconds < 0 ? MINUS : "+"}${duration(Math.abs(seconds))}`;
}

/** A lower bound of a difference: "≥ +0.41 ms"; "≥ 0" where the bound proves nothing. */
export function atLeast(seconds: number): string {
  return `≥ ${seconds > 0 ? signedDuration(seconds) : "0"}`;
}

export type Unit = "h" | "s" | "ms" | "µs" | "ns" | "ps" | "fs";
/** Each unit in seconds, from the longest on, and the least time that is written in it: what would round to the next unit is in that. */
const UNITS: Record<Unit, { factor: number; from: number }> = {
  h: { factor: 1 / 3600, from: 3600 },
  s: { factor: 1, from: 0.9995 },
  ms: { factor: 1e3, from: 1e-4 },
  µs: { factor: 1e6, from: 1e-7 },
  ns: { factor: 1e9, from: 1e-10 },
  ps: { factor: 1e12, from: 1e-13 },
  fs: { factor: 1e15, from: 0 },
};

/** The unit in which this many seconds are written. */
export function unitFor(seconds: number): Unit {
  const size = Math.abs(seconds);
  if (size === 0 || Number.isNaN(size)) return "ms";
  return (Object.keys(UNITS) as Unit[]).find((unit) => size >= UNITS[unit].from) ?? "fs";
}

/** Seconds as a number of another unit. */
export function inUnit(seconds: number, unit: Unit): number {
  return seconds * UNITS[unit].factor;
}

function scaled(seconds: number): [string, Unit] {
  const unit = unitFor(seconds);
  return [significant(inUnit(seconds, unit)), unit];
}

/** A share: "4.1 %". */
export function percent(share: number): string {
  return `${significant(100 * share)} %`;
}

/** Three significant digits, two decimals at most, thousands separated. */
function significant(value: number): string {
  const size = Math.abs(value);
  if (!Number.isFinite(size)) return Number.isNaN(value) ? "?" : value > 0 ? "\u221e" : "-\u221e";
  if (size < 0.005) return "0";
  if (size >= 99.95) return grouped(plain(Math.round(value)));
  return grouped(value.toFixed(size >= 9.995 ? 1 : 2));
}

/** A number without an exponent: an integer as it is, another with six significant digits. */
export function plain(value: number): string {
  if (Math.abs(value) >= 1e21 && Number.isFinite(value)) return BigInt(value).toString();
  const rounded = Number.isInteger(value) ? value : Number(value.toPrecision(6));
  const text = String(rounded);
  return /e-/.test(text) ? rounded.toFixed(Math.min(100, 5 - Math.floor(Math.log10(Math.abs(rounded))))).replace(/0+$/, "") : text;
}

/** A number with its thousands separated. Not by `Intl.NumberFormat`: making the first one takes longer than any frame of a page that opens. */
function grouped(digits: string): string {
  const [whole = "", ...fraction] = digits.split(".");
  return [whole.replace(/\B(?=(?:\d{3})+$)/g, ","), ...fraction].join(".");
}

/** The uncertainty of a cost as a share of it: "±2 %"; empty where it is not known. */
export function plusMinus(seconds: number | null, offS: number | null): string {
  if (seconds === null || offS === null || seconds <= 0) return "";
  const percent = (100 * offS) / seconds;
  if (percent === 0) return "±0 %";
  return percent < 0.5 ? "±<1 %" : `±${count(Math.round(percent))} %`;
}

/** "1×64×56×56", "?×3" where the first dimension is dynamic; a tensor of no dimensions is "scalar". */
export function shape(dimensions: readonly (number | string | null)[]): string {
  return dimensions.length === 0 ? "scalar" : dimensions.map((size) => size ?? "?").join("×");
}

/** "1,204". */
export function count(value: number): string {
  return grouped(plain(value));
}

/** "1 node", "3 nodes". */
export function plural(value: number, one: string, many = `${one}s`): string {
  return `${count(value)} ${value === 1 ? one : many}`;
}

/** "97.8 MB", in powers of 1000 as in file managers. */
export function bytes(value: number): string {
  const [size, power] = scaledBy1000(value, BYTE_UNITS.length);
  return `${power === 0 ? count(Math.round(size)) : significant(size)} ${BYTE_UNITS[power] ?? ""}`;
}

const BYTE_UNITS = ["bytes", "kB", "MB", "GB", "TB"];

/** "231 MFLOP": the operations of a computation. For a rate, the caller appends "/s". */
export function operations(value: number): string {
  const units = ["FLOP", "kFLOP", "MFLOP", "GFLOP", "TFLOP", "PFLOP"];
  const [size, power] = scaledBy1000(value, units.length);
  return `${plain(Number(size.toPrecision(3)))} ${units[power] ?? ""}`;
}

/** "200 GB/s". */
export function perSecond(byteCount: number): string {
  const [size, power] = scaledBy1000(byteCount, BYTE_UNITS.length);
  return `${plain(Number(size.toPrecision(3)))} ${BYTE_UNITS[power] ?? ""}/s`;
}

/** A number that reads as less than 1000, and how often the value was divided by 1000. */
function scaledBy1000(value: number, units: number): [number, number] {
  let size = value;
  let power = 0;
  while (Math.abs(size) >= 999.5 && power < units - 1) {
    size /= 1000;
    power += 1;
  }
  return [size, power];
}

/** A relative error: "4e-7"; 0 where the outputs are equal bit for bit. */
export function relativeError(value: number): string {
  if (value === Infinity) return "infinite";
  return value === 0 ? "0" : value.toExponential(0);
}

/** An attribute's value as one short line. */
export function attribute(value: unknown): string {
  if (Array.isArray(value)) return value.map((item) => attribute(item)).join(", ");
  if (typeof value === "number") return Number.isInteger(value) ? String(value) : String(Number(value.toPrecision(6)));
  if (typeof value === "string" || typeof value === "boolean") return String(value);
  if (value === null || value === undefined) return "none";
  const inner = value as { graph?: string; nodes?: number; tensor?: string; dtype?: string; shape?: number[]; value?: unknown[] | null };
  if (inner.graph !== undefined) return `graph of ${plural(inner.nodes ?? 0, "node")}`;
  if (inner.tensor !== undefined) {
    const type = inner.shape ? `${inner.dtype ?? ""} ${shape(inner.shape)}` : "tensor";
    return inner.value ? `${type}: ${attribute(inner.value)}` : type;
  }
  return JSON.stringify(value);
}
