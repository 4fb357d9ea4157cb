// What every drawing function of the canvas gets: the context, the frame to draw, and how to go from graph pixels to the canvas.

import type { Rect, Size } from "../../base/geometry";
import type { Context2d } from "./context_2d";
import type { Frame } from "./frame";

export interface Drawing {
  context: Context2d;
  frame: Frame;
  area: Rect;
  screen: Size;
  /** The transform that maps graph pixels to the canvas. */
  toGraph: () => void;
  /** The transform that maps screen pixels to the canvas. */
  toScreen: () => void;
}
