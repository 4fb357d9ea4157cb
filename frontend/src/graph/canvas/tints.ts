// The tint of a paint at a level of detail, and the pattern of hatched paints.

import { mix } from "../../base/colour";
import type { NodePaint } from "../../data/overlays/colours";
import type { Context2d } from "./context_2d";
import type { Detail } from "./detail";
import { type Theme } from "./theme";

const NEAR_TINT_LIGHT = 0.14;
const NEAR_TINT_DARK = 0.24;
/** The strongest tint when zoomed in: labels of edges must keep enough contrast on it, also in the dark theme. */
const NEAR_MOST = 0.45;
const FAR_TINT = 0.85;

/** Returns a function that gives the colour of a paint: a tint of its fill when zoomed in, nearly the fill when zoomed out. */
export function tinter(theme: Theme, detail: Detail): (paint: NodePaint) => string {
  const near = theme.isDark ? NEAR_TINT_DARK : NEAR_TINT_LIGHT;
  const mixed = new Map<string, string>();
  return ({ fill, strength }) => {
    const start = Math.min(NEAR_MOST, near * strength);
    const key = `${fill} ${strength}`;
    const known = mixed.get(key) ?? mix(fill, theme.background, start + (FAR_TINT - start) * detail.hull);
    mixed.set(key, known);
    return known;
  };
}

const TILE_PX = 8;
const patterns = new Map<string, CanvasPattern>();

/** A pattern of diagonal lines, with the same distance on the screen at every scale `k`. */
export function hatch(context: Context2d, theme: Theme, k: number): CanvasPattern | string {
  let pattern = patterns.get(theme.text);
  if (!pattern) {
    const made = makePattern(context, theme.text);
    if (!made) return "transparent";
    pattern = made;
    patterns.set(theme.text, pattern);
  }
  pattern.setTransform(new DOMMatrix().scale(1 / k));
  return pattern;
}

function makePattern(context: Context2d, colour: string): CanvasPattern | null {
  const tile = document.createElement("canvas");
  tile.width = TILE_PX;
  tile.height = TILE_PX;
  const tileContext = tile.getContext("2d");
  if (!tileContext) return null;
  tileContext.strokeStyle = colour;
  tileContext.globalAlpha = 0.3;
  tileContext.lineWidth = 1.2;
  tileContext.beginPath();
  for (const shift of [-TILE_PX, 0, TILE_PX]) {
    tileContext.moveTo(shift - 1, TILE_PX + 1);
    tileContext.lineTo(shift + TILE_PX + 1, -1);
  }
  tileContext.stroke();
  return context.createPattern(tile, "repeat");
}
