// The argument of every drawing function: the context, the frame to draw, and the transforms from graph and screen to the canvas.

import type { Rect, Size } from "../../base/geometry";
import type { Context2d } from "./context_2d";
import type { Frame } from "./frame";
import type { Projection } from "./pixels";

export interface Drawing {
  context: Context2d;
  frame: Frame;
  area: Rect;
  screen: Size;
  /** The transform that maps graph pixels to the canvas. */
  projection: Projection;
  /** Set the transform that maps graph pixels to the canvas. */
  toGraph: () => void;
  /** Set the transform that maps screen pixels to the canvas. */
  toScreen: () => void;
}
