/** Sources of costs: which are measurements, and what stands behind those that are none. */

/** The source of a cost that is estimated from a profile. */
export const PROFILE = "profile";
const SOLID: ReadonlySet<string> = new Set(["measured", "recorded", "host"]);
const LABELS: Readonly<Record<string, string>> = { bound: " (a bound)", estimate: " (an estimate)", [PROFILE]: " (estimated from a profile)", typed: " (typed in)" };

/** True if a cost was measured, or replayed from a measurement. */
export function isSolid(source: string): boolean {
  return SOLID.has(source);
}

/** A sign before a time that was not measured, but estimated from a profile: "≈ "; empty for the others. */
export function approximately(source: string): string {
  return source === PROFILE ? "≈ " : "";
}

/** A label behind a cost that is no measurement, such as " (an estimate)"; empty for the others. */
export function sourceLabel(source: string): string {
  return LABELS[source] ?? "";
}
