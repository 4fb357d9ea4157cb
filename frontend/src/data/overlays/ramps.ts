// The two colour ramps of the overlays: heat for costs, doubt for certainty. Pure.

type Stop = readonly [number, number, number];

const HEAT_LIGHT: readonly Stop[] = [[255, 247, 219], [250, 196, 110], [206, 92, 78], [92, 24, 84]];
const HEAT_DARK: readonly Stop[] = [[38, 44, 66], [86, 76, 130], [190, 96, 110], [250, 200, 90]];
const DOUBT_LIGHT: readonly Stop[] = [[196, 224, 234], [98, 164, 194], [20, 60, 110]];
const DOUBT_DARK: readonly Stop[] = [[44, 70, 84], [70, 140, 176], [190, 232, 248]];

/** The colour for a share of the highest cost (0 to 1). Lightness alone orders the ramp, so that colour-blind eyes read it, too. */
export function heat(share: number, isDark: boolean): string {
  return onRamp(isDark ? HEAT_DARK : HEAT_LIGHT, Math.sqrt(clamped(share)));
}

/** The colour for a doubt from 0 (certain) to 1; ordered by lightness alone as well, in other hues than heat. */
export function doubt(value: number, isDark: boolean): string {
  return onRamp(isDark ? DOUBT_DARK : DOUBT_LIGHT, clamped(value));
}

function onRamp(stops: readonly Stop[], t: number): string {
  const position = t * (stops.length - 1);
  const low = Math.min(Math.floor(position), stops.length - 2);
  const [from, to] = [stops[low], stops[low + 1]];
  if (!from || !to) return "transparent";
  const mixed = from.map((value, i) => Math.round(value + (position - low) * ((to[i] ?? value) - value)));
  return `rgb(${mixed.join(",")})`;
}

function clamped(value: number): number {
  return Math.max(0, Math.min(1, value));
}
