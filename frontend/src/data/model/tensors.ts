// The types of tensors as text. Pure.

import { shape } from "../../base/format";
import type { TensorInfo } from "../protocol";

/** "N×3×224×224": with the symbols of the file where its graph is shown; "…" where nobody says how many dimensions there are. */
export function shapeOf(tensor: TensorInfo): string {
  return shape(tensor.symbols ?? tensor.shape);
}

/** "N×3×224×224 float32"; the shape alone where the type is not known. */
export function typeOf(tensor: TensorInfo): string {
  const dtype = tensor.dtype === "undefined" ? "" : tensor.dtype;
  return tensor.dtype.includes("(") ? dtype : `${shapeOf(tensor)} ${dtype}`.trim();
}
