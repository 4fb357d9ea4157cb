"""Models with dynamic dimensions: a detector of any picture, a decoder step over any past, a loop and branches over any rows.

Each has the inputs of any size that fit it: `any_inputs`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np
from onnx import ModelProto

from .models import model_of, weights

Inputs = dict[str, np.ndarray]


@dataclass(frozen=True)
class DynamicCase:
    """A model, and sizes of its dimensions.

    Attributes:
        make: Returns the model.
        shapes: What is planned, as ``--shape`` takes it.
        any_inputs: Returns random inputs of a size, which may be one that was not planned.
        sizes: Sizes of inputs, planned ones and others.
    """

    make: Callable[[], ModelProto]
    shapes: Mapping[str, str]
    any_inputs: Callable[[int, int], Inputs]
    sizes: tuple[int, ...]


_BOXES = """g (float[1,3,h,w] image) => (float[k,4] found) {
    f1 = Conv <strides=[2, 2], pads=[1, 1, 1, 1]> (image, w1) f2 = Relu (f1)
    f3 = Conv <strides=[2, 2], pads=[1, 1, 1, 1]> (f2, w2) f4 = Relu (f3)
    b1 = Conv (f4, wb) b2 = Reshape (b1, four) b3 = Transpose <perm=[0, 2, 1]> (b2) boxes = Sigmoid (b3)
    s1 = Conv (f4, ws) s2 = Reshape (s1, two) scores = Sigmoid (s2)
    [nms] selected = NonMaxSuppression <center_point_box=1> (boxes, scores, most, overlap, least)
    column = Gather <axis=1> (selected, last)
    flat = Squeeze (boxes, front)
    [pick] picked = Gather <axis=0> (flat, column)
    size = Shape (image) height = Gather (size, last) scale = Cast <to=1> (height)
    [area] found = Mul (picked, scale)
}"""


def dynamic_detector() -> ModelProto:
    """Return a detector of pictures of any height and width; it gives as many boxes [?, 4] as there are, at most 10 of each class."""
    constants = {
        "w1": weights(8, 3, 3, 3, seed=1) / 3,
        "w2": weights(8, 8, 3, 3, seed=2) / 5,
        "wb": weights(4, 8, 1, 1, seed=3),
        "ws": weights(2, 8, 1, 1, seed=4),
        "four": np.array([1, 4, -1]),
        "two": np.array([1, 2, -1]),
        "most": np.array(10),
        "overlap": np.array(0.5, np.float32),
        "least": np.array(0.6, np.float32),
        "last": np.array(2),
        "front": np.array([0]),
    }
    return model_of(_BOXES, constants)


def _picture(size: int, seed: int) -> Inputs:
    """The height is `size`, the width 32; one in five is black, and has no boxes."""
    bright = np.float32(0 if seed % 5 == 4 else 0.25 + seed % 3)
    return {"image": weights(1, 3, size, 32, seed=seed) * bright}


HEADS, WIDTH = 2, 8
_STEP = f"""g (float[1,1,16] x, float[1,{HEADS},past,{WIDTH}] old_keys, float[1,{HEADS},past,{WIDTH}] old_values)
        => (float[1,1,16] y, float[1,{HEADS},total,{WIDTH}] keys, float[1,{HEADS},total,{WIDTH}] values) {{
    q1 = MatMul(x, wq) q2 = Reshape(q1, split) q = Transpose<perm = [0, 2, 1, 3]>(q2)
    k1 = MatMul(x, wk) k2 = Reshape(k1, split) k = Transpose<perm = [0, 2, 1, 3]>(k2)
    v1 = MatMul(x, wv) v2 = Reshape(v1, split) v = Transpose<perm = [0, 2, 1, 3]>(v2)
    [keys] keys = Concat<axis = 2>(old_keys, k)
    [values] values = Concat<axis = 2>(old_values, v)
    kt = Transpose<perm = [0, 1, 3, 2]>(keys) s1 = MatMul(q, kt) s2 = Mul(s1, scale) s = Softmax(s2)
    m1 = MatMul(s, values) m2 = Transpose<perm = [0, 2, 1, 3]>(m1) m3 = Reshape(m2, merged)
    [out] y = MatMul(m3, wo)
}}"""


def dynamic_decoder() -> ModelProto:
    """Return a decoder step that reads keys and values [1, 2, past, 8], and returns them with one row more."""
    constants = {name: weights(16, 16, seed=seed) / 4 for seed, name in enumerate(("wq", "wk", "wv", "wo"))}
    constants |= {"split": np.array([1, 1, HEADS, WIDTH]), "merged": np.array([1, 1, 16]), "scale": np.array(WIDTH**-0.5, np.float32)}
    return model_of(_STEP, constants)


def _step(size: int, seed: int) -> Inputs:
    past = [weights(1, HEADS, size, WIDTH, seed=seed + number) for number in (1, 2)]
    return {"x": weights(1, 1, 16, seed=seed), "old_keys": past[0], "old_values": past[1]}


_LSTM = f"""g (float[n,{WIDTH}] x, float[1,{WIDTH}] h0, float[1,{WIDTH}] c0) => (float[n,1,{WIDTH}] y, float[1,{WIDTH}] last) {{
    [scale] xs = Tanh(x)
    size = Shape(x) count = Gather(size, zero)
    [loop] h, c, ys = Loop(count, , h0, c0) <
        body = cell (int64 i, bool goes, float[1,{WIDTH}] hs, float[1,{WIDTH}] cs)
            => (bool on, float[1,{WIDTH}] hn, float[1,{WIDTH}] cn, float[1,{WIDTH}] out) {{
            on = Identity(goes) row = Gather<axis = 0>(xs, i)
            a = MatMul(row, w) b = MatMul(hs, u) ab = Add(a, b)
            gi, gf, go_, gc = Split<axis = 1, num_outputs = 4>(ab)
            it = Sigmoid(gi) ft = Sigmoid(gf) ot = Sigmoid(go_) ct = Tanh(gc)
            kept = Mul(ft, cs) fresh = Mul(it, ct) cn = Add(kept, fresh)
            act = Tanh(cn) hn = Mul(ot, act) out = Relu(hn)
        }}
    >
    [y] y = Neg(ys)
    [last] last = Add(h, c)
}}"""


def dynamic_lstm_loop() -> ModelProto:
    """Return a `Loop` around an LSTM cell that makes as many turns as ``x`` has rows."""
    constants = {"w": weights(WIDTH, 4 * WIDTH, seed=1), "u": weights(WIDTH, 4 * WIDTH, seed=2), "zero": np.array(0)}
    return model_of(_LSTM, constants, opset=18)


def _rows(size: int, seed: int) -> Inputs:
    return {"x": weights(size, WIDTH, seed=seed), "h0": weights(1, WIDTH, seed=seed + 1), "c0": weights(1, WIDTH, seed=seed + 2)}


_BRANCHES = f"""g (float[n,{WIDTH}] x) => (float[n,{WIDTH}] y) {{
    [total] s = ReduceSum<keepdims = 0>(x)
    [positive] is_positive = Greater(s, zero)
    [if] r = If(is_positive) <
        then_branch = t () => (float[n,{WIDTH}] a) {{ [tm] m = MatMul(x, w) [ta] p = Add(m, v) [tr] a = Relu(p) }},
        else_branch = e () => (float[n,{WIDTH}] b) {{ [es] q = Softmax(x) [em] b = Mul(q, v) }}
    >
    [y] y = Neg(r)
}}"""


def dynamic_branches() -> ModelProto:
    """Return an `If` over two branches, by the sign of the sum of ``x``, which has any number of rows."""
    constants = {"zero": np.array(0, np.float32), "w": weights(WIDTH, WIDTH, seed=4), "v": weights(1, WIDTH, seed=5)}
    return model_of(_BRANCHES, constants, opset=18)


_GROWING = f"""g (float[2,{WIDTH}] x, int64 turns) => (float[m,{WIDTH}] y, float[k] sums) {{
    [bend] bent = Tanh(x)
    [loop] all, sums = Loop(turns, , bent) <
        body = b (int64 i, bool goes, float[p,{WIDTH}] rows) => (bool on, float[q,{WIDTH}] more, float sum) {{
            on = Identity(goes) more = Concat<axis = 0>(rows, bent) sum = ReduceSum<keepdims = 0>(more)
        }}
    >
    [y] y = MatMul(all, w)
}}"""


def growing_loop() -> ModelProto:
    """Return a `Loop` whose state has two rows more after each turn."""
    return model_of(_GROWING, {"w": weights(WIDTH, WIDTH)}, opset=18)


_COLLECTING = f"""g (float[5,{WIDTH}] x, int64 turns) => (float[m,{WIDTH}] y) {{
    [empty] none = SequenceEmpty<dtype = 1>()
    [loop] all = Loop(turns, , none) <
        body = b (int64 i, bool goes, seq(float[{WIDTH}]) rows) => (bool on, seq(float[{WIDTH}]) more) {{
            on = Identity(goes) row = Gather<axis = 0>(x, i) made = MatMul(row, w) more = SequenceInsert(rows, made)
        }}
    >
    [y] y = ConcatFromSequence<axis = 0, new_axis = 1>(all)
}}"""


def collecting_loop() -> ModelProto:
    """Return a `Loop` whose state is a sequence that gets a row at each turn."""
    return model_of(_COLLECTING, {"w": weights(WIDTH, WIDTH)}, opset=18)


DYNAMIC: Mapping[str, DynamicCase] = {
    "detector": DynamicCase(dynamic_detector, {"image": "1,3,{16,40},32"}, _picture, (16, 40, 24, 52, 64)),
    "decoder": DynamicCase(dynamic_decoder, {"old_keys": "1,2,{1,9},8"}, _step, (1, 9, *range(10, 30))),
    "loop": DynamicCase(dynamic_lstm_loop, {"x": "{2,5},8"}, _rows, (2, 5, 1, 3, 11, 17)),
    "if": DynamicCase(dynamic_branches, {"x": "{1,6},8"}, lambda size, seed: {"x": weights(size, WIDTH, seed=seed)}, (1, 6, 2, 9, 30)),
}
