// Costs that the user types in: their text as seconds, and what they replace. Pure.

import { count, duration, plural } from "../../base/format";
import type { TypedCost } from "../protocol";

const UNITS: Record<string, number> = { ns: 1e-9, us: 1e-6, "\u00b5s": 1e-6, "\u03bcs": 1e-6, ms: 1e-3, s: 1 };
const LONGEST_S = 1e6;

/** The seconds in a text such as "1.2 ms", or the mistake in it. */
export function parseCost(text: string): { seconds: number } | { mistake: string } {
  const found = /^\s*([^\s]*?)\s*(ns|us|\u00b5s|\u03bcs|ms|s)?\s*$/.exec(text);
  const [number = "", unit] = [found?.[1], found?.[2]];
  const value = number === "" ? NaN : Number(number);
  if (!Number.isFinite(value)) return { mistake: `${JSON.stringify(text.trim())} is no time: write it like 1.2 ms` };
  if (unit === undefined) return { mistake: `${JSON.stringify(text.trim())} has no unit: write it like 800 us, 1.2 ms or 0.5 s` };
  const seconds = value * (UNITS[unit] ?? 1);
  return seconds >= 0 && seconds <= LONGEST_S ? { seconds } : { mistake: `${text.trim()} is no time that a partition can take: it must be from 0 to ${count(LONGEST_S)} s` };
}

/** The cost that the run knows, and how many candidates cost as much. */
export function typedBeforeText({ before, equal }: TypedCost): string {
  const was = before.seconds === null ? `${before.source} before: ${before.reason}` : `${duration(before.seconds)} ${before.source} before`;
  return equal > 1 ? `${was}; so ${equal === 2 ? "does" : "do"} ${plural(equal - 1, "equal one")}` : was;
}
