"""A small detector with seeded random weights: the number of boxes that it finds depends on the picture."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto

from .models import model_of, weights

_BOXES = """
    f1 = Conv <strides=[2, 2], pads=[1, 1, 1, 1]> (image, w1)
    f2 = Relu (f1)
    f3 = Conv <strides=[2, 2], pads=[1, 1, 1, 1]> (f2, w2)
    f4 = Relu (f3)
    b1 = Conv (f4, wb)
    b2 = Reshape (b1, four)
    b3 = Transpose <perm=[0, 2, 1]> (b2)
    boxes = Sigmoid (b3)
    s1 = Conv (f4, ws)
    s2 = Reshape (s1, two)
    scores = Sigmoid (s2)
    [nms] selected = NonMaxSuppression <center_point_box=1> (boxes, scores, most, overlap, least)
"""

_PICKED = """
    column = Gather <axis=1> (selected, last)
    flat = Reshape (boxes, rows)
    [pick] picked = Gather <axis=0> (flat, column)
    [area] scaled = Mul (picked, size)
"""

IMAGE = (1, 3, 32, 32)


def detector(picks: bool = False) -> ModelProto:
    """Return the detector, which ends in the selected rows [?, 3]; with `picks` it goes on and gives the boxes [?, 4] that they name.

    At most 10 boxes of each of 2 classes are selected.
    """
    constants = {
        "w1": weights(8, 3, 3, 3, seed=1) / 3,
        "w2": weights(8, 8, 3, 3, seed=2) / 5,
        "wb": weights(4, 8, 1, 1, seed=3),
        "ws": weights(2, 8, 1, 1, seed=4),
        "four": np.array([1, 4, 64]),
        "two": np.array([1, 2, 64]),
        "most": np.array(10),
        "overlap": np.array(0.5, np.float32),
        "least": np.array(0.6, np.float32),
    }
    if picks:
        constants |= {"last": np.array(2), "rows": np.array([64, 4]), "size": np.array(32, np.float32)}
    outputs = "float[k,4] scaled" if picks else "int64[k,3] selected"
    return model_of(f"detector (float[1,3,32,32] image) => ({outputs}) {{{_BOXES}{_PICKED if picks else ''}}}", constants)


def pictures() -> dict[str, np.ndarray]:
    """Return pictures by the number of boxes in them: none, some, many."""
    noise = weights(*IMAGE, seed=5)
    return {"many": noise, "none": np.zeros(IMAGE, np.float32), "some": noise / 4}
