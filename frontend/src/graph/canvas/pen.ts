// What every drawing function of the canvas gets: the brush, the frame to draw, and how to go from graph pixels to the canvas.

import type { Rect, Size } from "../../base/geometry";
import type { Brush } from "./brush";
import type { Frame } from "./frame";

export interface Pen {
  context: Brush;
  frame: Frame;
  area: Rect;
  screen: Size;
  /** The transform that maps graph pixels to the canvas. */
  toGraph: () => void;
  /** The transform that maps screen pixels to the canvas. */
  toScreen: () => void;
}
