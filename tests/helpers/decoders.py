"""One step of a small decoder whose cache grows: the model reads as many rows of a cache as are filled, and returns one more."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto

from .models import model_of, weights

HEADS, WIDTH, LONGEST = 2, 8, 64
_STEP = """
    [queries] q1 = MatMul(x, wq) q2 = Reshape(q1, split) q = Transpose<perm = [0, 2, 1, 3]>(q2)
    [keys] k1 = MatMul(x, wk) k2 = Reshape(k1, split) k = Transpose<perm = [0, 2, 1, 3]>(k2)
    [values] v1 = MatMul(x, wv) v2 = Reshape(v1, split) v = Transpose<perm = [0, 2, 1, 3]>(v2)
    [filled] end = Unsqueeze(filled, first)
    [old_keys] pk = Slice(cached_keys, first, end, rows)
    [old_values] pv = Slice(cached_values, first, end, rows)
    [join_keys] all_keys = Concat<axis = 2>(pk, k)
    [join_values] all_values = Concat<axis = 2>(pv, v)
    kt = Transpose<perm = [0, 1, 3, 2]>(all_keys)
    s1 = MatMul(q, kt) s2 = Mul(s1, scale) s = Softmax(s2)
    [mix] m1 = MatMul(s, all_values)
    [merge] m2 = Transpose<perm = [0, 2, 1, 3]>(m1) m3 = Reshape(m2, merged)
    [out] y = MatMul(m3, wo)
"""


def decoder() -> ModelProto:
    """Return the step: x [1, 1, 16], two caches [1, 2, 64, 8], how many rows of them are filled → y, and keys and values [1, 2, ?, 8]."""
    size = HEADS * WIDTH
    constants = {name: weights(size, size, seed=seed) / 4 for seed, name in enumerate(("wq", "wk", "wv", "wo"))}
    constants |= {
        "split": np.array([1, 1, HEADS, WIDTH]),
        "merged": np.array([1, 1, size]),
        "first": np.array([0]),
        "rows": np.array([2]),
        "scale": np.array(WIDTH**-0.5, np.float32),
    }
    cache = f"float[1,{HEADS},{LONGEST},{WIDTH}]"
    inputs = f"float[1,1,{size}] x, {cache} cached_keys, {cache} cached_values, int64 filled"
    grown = f"float[1,{HEADS},n,{WIDTH}]"
    return model_of(f"decoder ({inputs}) => (float[1,1,{size}] y, {grown} all_keys, {grown} all_values) {{{_STEP}}}", constants)


def empty_caches() -> dict[str, np.ndarray]:
    """Return caches that hold nothing yet."""
    return {name: np.zeros((1, HEADS, LONGEST, WIDTH), np.float32) for name in ("cached_keys", "cached_values")}
