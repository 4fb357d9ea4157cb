"""Small models on values that toolchains are known to compute wrong, with inputs and what is right there.

Each model is written as text, and what is right as a function of numpy, so that no toolchain says what it is.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import onnx.parser
from onnx import ModelProto

INF, NAN = np.inf, np.nan


@dataclass(frozen=True)
class ValueCase:
    """A model, inputs, and what is right.

    Attributes:
        text: The graph in the text form of ONNX.
        inputs: Name → array.
        right: Takes the inputs in order; returns the output ``y``.
        opset: Of the model.
    """

    text: str
    inputs: Mapping[str, np.ndarray]
    right: Callable[..., Any]
    opset: int = 21

    def model(self) -> ModelProto:
        made: ModelProto = onnx.parser.parse_model(f'<ir_version: 10, opset_import: ["": {self.opset}]> {self.text}')
        return made

    def expected(self) -> dict[str, np.ndarray]:
        with np.errstate(all="ignore"):
            return {"y": np.asarray(self.right(*self.inputs.values()))}


def arrays(dtype: str, **values: Any) -> dict[str, np.ndarray]:
    return {name: np.array(value, dtype) for name, value in values.items()}


def _softmax(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    shares = np.exp(wide - wide.max(-1, keepdims=True))
    return (shares / shares.sum(-1, keepdims=True)).astype(np.float32)


def _log_sum_exp(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    most = wide.max(-1, keepdims=True)
    return (most + np.log(np.exp(wide - most).sum(-1, keepdims=True))).astype(np.float32)


def _instance_norm(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    return ((wide - wide.mean((2, 3), keepdims=True)) / np.sqrt(wide.var((2, 3), keepdims=True) + 1e-5)).astype(np.float32)


def _layer_norm(x: np.ndarray) -> np.ndarray:
    wide = x.astype(np.float64)
    return ((wide - wide.mean(-1, keepdims=True)) / np.sqrt(wide.var(-1, keepdims=True) + 1e-5)).astype(np.float32)


def _largest(x: np.ndarray, count: int) -> np.ndarray:
    return np.argsort(-x, axis=-1, kind="stable")[..., :count]


BIG = [2**40 + 1, 2**33 + 5, 7, -(2**40)]
LARGE_MEAN = np.random.default_rng(5).standard_normal((1, 2, 4, 4)).astype(np.float32) + np.float32(3e3)
TIED = [[3, 1, 3, 2, 3, 0, 3, 1], [1, 1, 1, 1, 1, 1, 1, 1]]

CASES: Mapping[str, ValueCase] = {
    # 64-bit integers: ids, hashes, timestamps.
    "int64_gather": ValueCase(
        "g (int64[4] a, int64[2] b) => (int64[2] y) { y = Gather (a, b) }",
        {**arrays("int64", a=BIG), **arrays("int64", b=[1, 3])},
        lambda a, b: a[b],
    ),
    "int64_concat": ValueCase(
        "g (int64[4] a, int64[4] b) => (int64[8] y) { y = Concat <axis = 0> (a, b) }",
        arrays("int64", a=BIG, b=BIG[::-1]),
        lambda a, b: np.concatenate([a, b]),
    ),
    "int64_hash": ValueCase(
        "g (int64[4] a) => (int64[4] y) <int64 k = {31}, int64 p = {1000000007}> { t = Mul (a, k) y = Mod (t, p) }",
        arrays("int64", a=[2**31, 2**37 + 3, 12, 2**30]),
        lambda a: a * 31 % 1_000_000_007,
    ),
    "int64_max": ValueCase(
        "g (int64[4] a, int64[4] b) => (int64[4] y) { y = Max (a, b) }",
        arrays("int64", a=BIG, b=[2**40, 2**33 + 6, 8, -(2**40) + 1]),
        np.maximum,
    ),
    "int64_min": ValueCase(
        "g (int64[4] a, int64[4] b) => (int64[4] y) { y = Min (a, b) }",
        arrays("int64", a=BIG, b=[2**40, 2**33 + 6, 8, -(2**40) + 1]),
        np.minimum,
    ),
    "int64_max_of_53_bits": ValueCase(
        "g (int64[2] a, int64[2] b) => (int64[2] y) { y = Max (a, b) }",
        arrays("int64", a=[2**62 + 1, -(2**62) - 1], b=[2**62, -(2**62)]),
        np.maximum,
    ),
    "int64_sign": ValueCase("g (int64[4] a) => (int64[4] y) { y = Sign (a) }", arrays("int64", a=[2**32, -(2**32), 0, 2**40]), np.sign),
    "int64_clip": ValueCase(
        "g (int64[4] a) => (int64[4] y) <int64 l = {-8589934592}, int64 h = {1099511627776}> { y = Clip (a, l, h) }",
        arrays("int64", a=[2**40 + 1, 2**33 + 5, 7, -(2**40)]),
        lambda a: np.clip(a, -(2**33), 2**40),
    ),
    "int64_cumsum": ValueCase(
        "g (int64[4] a) => (int64[4] y) <int64 k = {0}> { y = CumSum (a, k) }", arrays("int64", a=[2**31, 2**31, 1, 5]), np.cumsum
    ),
    "int64_equal": ValueCase(
        "g (int64[3] a, int64[3] b) => (bool[3] y) { y = Equal (a, b) }",
        arrays("int64", a=[2**40, 2**32 + 1, 5], b=[2**41, 1, 5]),
        np.equal,
    ),
    "int64_less": ValueCase(
        "g (int64[3] a, int64[3] b) => (bool[3] y) { y = Less (a, b) }",
        arrays("int64", a=[2**32, 2**53, 5], b=[1, 2**53 + 1, 6]),
        np.less,
    ),
    "int64_argmax": ValueCase(
        "g (int64[2, 3] a) => (int64[2] y) { y = ArgMax <axis = 1, keepdims = 0> (a) }",
        arrays("int64", a=[[2**53, 2**53 + 1, 5], [2**32, 3, 4]]),
        lambda a: a.argmax(1),
    ),
    "int64_reduce_max": ValueCase(
        "g (int64[2, 3] a) => (int64[2] y) <int64[1] k = {1}> { y = ReduceMax <keepdims = 0> (a, k) }",
        arrays("int64", a=[[2**53, 2**53 + 1, 5], [2**32, 3, 4]]),
        lambda a: a.max(1),
    ),
    "int64_topk": ValueCase(
        "g (int64[4] a) => (int64[2] y) <int64[1] k = {2}> { v, y = TopK (a, k) }",
        arrays("int64", a=[2**53, 2**53 + 1, 5, 2**33]),
        lambda a: _largest(a, 2),
    ),
    "int64_to_float": ValueCase(
        "g (int64[3] a, int64[3] b) => (float[3] y) { t = Sub (a, b) y = Cast <to = 1> (t) }",
        arrays("int64", a=[1732700005, 2**40 + 100, 5], b=[1732700000, 2**40, 4]),
        lambda a, b: (a - b).astype(np.float32),
    ),
    "float_to_int64": ValueCase(
        "g (float[3] a) => (int64[3] y) { y = Cast <to = 7> (a) }", arrays("float32", a=[3e9, -4e9, 7.9]), lambda a: a.astype(np.int64)
    ),
    "int64_to_int32": ValueCase(
        "g (int64[3] a) => (int32[3] y) { t = Add (a, a) y = Cast <to = 6> (t) }",
        arrays("int64", a=[2**31 + 5, -7, 2**33 + 1]),
        lambda a: (a + a).astype(np.int32),
    ),
    "uint64_shift": ValueCase(
        'g (uint64[3] a, uint64[3] b) => (uint64[3] y) { y = BitShift <direction = "RIGHT"> (a, b) }',
        arrays("uint64", a=[2**63, 2**40 + 8, 16], b=[60, 3, 2]),
        np.right_shift,
    ),
    # 32 bits and fewer: no way through float32, and wrapping.
    "int32_mul_wraps": ValueCase(
        "g (int32[2] a, int32[2] b) => (int32[2] y) { y = Mul (a, b) }", arrays("int32", a=[2**20, 3], b=[2**13 + 1, 5]), np.multiply
    ),
    "int32_equal": ValueCase(
        "g (int32[2] a, int32[2] b) => (bool[2] y) { y = Equal (a, b) }", arrays("int32", a=[2**24 + 1, 5], b=[2**24, 5]), np.equal
    ),
    "int32_reduce_mean": ValueCase(
        "g (int32[1, 4] a) => (int32[1] y) <int64[1] k = {1}> { y = ReduceMean <keepdims = 0> (a, k) }",
        arrays("int32", a=[[16777217, 16777219, 16777217, 16777219]]),
        lambda a: (a.sum(1, dtype=np.int64) // 4).astype(np.int32),
    ),
    "int32_div": ValueCase(
        "g (int32[3] a, int32[3] b) => (int32[3] y) { y = Div (a, b) }",
        arrays("int32", a=[16777217, 2**31 - 1, -7], b=[1, 3, 2]),
        lambda a, b: np.trunc(a.astype(np.float64) / b).astype(np.int32),
    ),
    "uint32_div": ValueCase(
        "g (uint32[2] a, uint32[2] b) => (uint32[2] y) { y = Div (a, b) }",
        arrays("uint32", a=[4_000_000_001, 7], b=[3, 2]),
        np.floor_divide,
    ),
    "int8_add_wraps": ValueCase(
        "g (int8[3] a, int8[3] b) => (int8[3] y) { y = Add (a, b) }", arrays("int8", a=[100, -100, 5], b=[100, -100, 3]), np.add
    ),
    "int8_abs": ValueCase("g (int8[3] a) => (int8[3] y) { y = Abs (a) }", arrays("int8", a=[-128, -5, 7]), np.abs),
    "uint8_image": ValueCase(
        "g (uint8[1, 1, 2, 2] a) => (float[1, 1, 2, 2] y) <uint8 m = {128}, float s = {0.0078125}> "
        "{ t = Sub (a, m) f = Cast <to = 1> (t) y = Mul (f, s) }",
        arrays("uint8", a=[[[[0, 127], [128, 255]]]]),
        lambda a: (a - np.uint8(128)).astype(np.float32) / 128,
    ),
    # double
    "double_sum": ValueCase(
        "g (float[4] a) => (float[1] y) <int64 k = {0}, int64[1] i = {3}, int64[1] j = {4}> "
        "{ d = Cast <to = 11> (a) s = CumSum (d, k) z = Slice (s, i, j) y = Cast <to = 1> (z) }",
        arrays("float32", a=[1e8, 1.0, -1e8, 0.5]),
        lambda a: np.array([a.astype(np.float64).sum()], np.float32),
    ),
    "double_variance": ValueCase(
        "g (double[1, 4] a) => (double[1, 1] y) <int64[1] k = {1}> "
        "{ m = ReduceMean (a, k) d = Sub (a, m) q = Mul (d, d) y = ReduceMean (q, k) }",
        arrays("float64", a=[[1e9 + 1, 1e9 + 2, 1e9 + 3, 1e9 + 4]]),
        lambda a: a.var(1, keepdims=True),
    ),
    # ties
    "topk_ties": ValueCase(
        "g (float[2, 8] a) => (int64[2, 4] y) <int64[1] k = {4}> { v, y = TopK (a, k) }",
        arrays("float32", a=TIED),
        lambda a: _largest(a, 4),
    ),
    "topk_ties_of_many": ValueCase(
        "g (float[1, 300] a) => (int64[1, 40] y) <int64[1] k = {40}> { v, y = TopK (a, k) }",
        arrays("float32", a=np.random.default_rng(0).integers(0, 9, (1, 300))),
        lambda a: _largest(a, 40),
    ),
    "topk_ties_behind_sigmoid": ValueCase(
        "g (float[1, 300] a) => (int64[1, 40] y) <int64[1] k = {40}> { s = Sigmoid (a) v, y = TopK (s, k) }",
        arrays("float32", a=np.random.default_rng(1).integers(0, 9, (1, 300))),
        lambda a: _largest(a, 40),
    ),
    "argmax_ties": ValueCase(
        "g (float[2, 8] a) => (int64[2] y) { y = ArgMax <axis = 1, keepdims = 0> (a) }", arrays("float32", a=TIED), lambda a: a.argmax(1)
    ),
    "argmin_ties": ValueCase(
        "g (float[2, 8] a) => (int64[2] y) { y = ArgMin <axis = 1, keepdims = 0> (a) }", arrays("float32", a=TIED), lambda a: a.argmin(1)
    ),
    "argmax_last_ties": ValueCase(
        "g (float[2, 8] a) => (int64[2] y) { y = ArgMax <axis = 1, keepdims = 0, select_last_index = 1> (a) }",
        arrays("float32", a=TIED),
        lambda a: 7 - a[:, ::-1].argmax(1),
    ),
    "round_to_even": ValueCase(
        "g (float[6] a) => (float[6] y) { y = Round (a) }", arrays("float32", a=[0.5, 1.5, 2.5, -0.5, -1.5, -2.5]), np.round
    ),
    # Quantised pairs saturate, and round to even.
    "qdq_u8_saturates": ValueCase(
        "g (float[4] a) => (float[4] y) <float s = {0.1}, uint8 z = {128}> "
        "{ q = QuantizeLinear (a, s, z) d = DequantizeLinear (q, s, z) y = Add (d, d) }",
        arrays("float32", a=[100, -100, 5, 0.24]),
        lambda a: 2 * (np.clip(np.round(a / np.float32(0.1)) + 128, 0, 255) - 128).astype(np.float32) * np.float32(0.1),
    ),
    "qdq_s8_zero_point": ValueCase(
        "g (float[4] a) => (float[4] y) <float s = {0.5}, int8 z = {-100}> "
        "{ m = Mul (a, a) q = QuantizeLinear (m, s, z) d = DequantizeLinear (q, s, z) y = Add (d, a) }",
        arrays("float32", a=[100, -100, 5, 0.24]),
        lambda a: (np.clip(np.round(a * a / np.float32(0.5)) - 100, -128, 127) + 100).astype(np.float32) * np.float32(0.5) + a,
    ),
    # Infinities that something makes finite again.
    "exp_of_log_of_zero": ValueCase("g (float[3] a) => (float[3] y) { t = Log (a) y = Exp (t) }", arrays("float32", a=[0, 1, 4]), np.copy),
    "one_over_infinity": ValueCase(
        "g (float[3] a) => (float[3] y) <float one = {1.0}> { t = Div (one, a) u = Abs (t) y = Div (one, u) }",
        arrays("float32", a=[0, -2, 4]),
        np.abs,
    ),
    "min_of_infinity": ValueCase(
        "g (float[3] a) => (float[3] y) <float most = {5.0}> { t = Reciprocal (a) y = Min (t, most) }",
        arrays("float32", a=[0, -2, 4]),
        lambda a: np.minimum(1 / a, np.float32(5)),
    ),
    "softmax_of_mask": ValueCase(
        "g (float[1, 4] a, bool[1, 4] m) => (float[1, 4] y) <float out = {-3.4028234e38}> { t = Where (m, a, out) y = Softmax (t) }",
        {**arrays("float32", a=[[1, 2, 3, 4]]), **arrays("bool", m=[[1, 0, 1, 0]])},
        lambda a, m: _softmax(np.where(m, a, -3.4028234e38)),
    ),
    "softmax_of_infinite_mask": ValueCase(
        "g (float[1, 4] a, float[1, 4] m) => (float[1, 4] y) { t = Log (m) u = Add (a, t) y = Softmax (u) }",
        arrays("float32", a=[[1, 2, 3, 4]], m=[[1, 0, 1, 0]]),
        lambda a, m: _softmax(np.where(m > 0, a, -INF)),
    ),
    "infinity_in_maxpool": ValueCase(
        "g (float[1, 1, 4, 4] a) => (float[1, 1, 2, 2] y) <float z = {0.0}> "
        "{ n = Log (a) y = MaxPool <kernel_shape = [2, 2], strides = [2, 2]> (n) }",
        arrays("float32", a=np.arange(16).reshape(1, 1, 4, 4) % 5),
        lambda a: np.log(a).reshape(1, 1, 2, 2, 2, 2).max((3, 5)),
    ),
    # Large values.
    "log_sum_exp_of_product": ValueCase(
        "g (float[2, 3] a, float[3, 3] b) => (float[2, 1] y) <int64[1] k = {1}> { t = MatMul (a, b) y = ReduceLogSumExp (t, k) }",
        arrays("float32", a=[[100, 88, 50], [-150, -120, -151]], b=np.eye(3)),
        lambda a, b: _log_sum_exp(a @ b),
    ),
    "softmax_large": ValueCase(
        "g (float[2, 3] a) => (float[2, 3] y) { y = Softmax (a) }", arrays("float32", a=[[1e4, 9999, 0], [-1e4, -9999, 0]]), _softmax
    ),
    "log_of_softmax": ValueCase(
        "g (float[1, 3] a) => (float[1, 3] y) { t = Softmax (a) y = Log (t) }",
        arrays("float32", a=[[80, 0, 40]]),
        lambda a: np.log(_softmax(a)),
    ),
    "log_softmax_large": ValueCase(
        "g (float[2, 3] a) => (float[2, 3] y) { y = LogSoftmax (a) }",
        arrays("float32", a=[[1e3, 0, 5], [-1e3, 0, 5]]),
        lambda a: (a - _log_sum_exp(a)).astype(np.float32),
    ),
    "softplus_of_sum": ValueCase(
        "g (float[3] a) => (float[3] y) { t = Add (a, a) y = Softplus (t) }",
        arrays("float32", a=[60, -60, 1]),
        lambda a: np.logaddexp(0, 2 * a.astype(np.float64)).astype(np.float32),
    ),
    "mish_large": ValueCase(
        "g (float[3] a) => (float[3] y) { t = Softplus (a) u = Tanh (t) y = Mul (a, u) }",
        arrays("float32", a=[100, -100, 1]),
        lambda a: (a * np.tanh(np.logaddexp(0, a.astype(np.float64)))).astype(np.float32),
    ),
    "exp_near_overflow": ValueCase("g (float[3] a) => (float[3] y) { y = Exp (a) }", arrays("float32", a=[88.7, -87.0, 1]), np.exp),
    # Sums of halves, which end at 2048 where ones are added, and at 65504.
    "float16_mean_of_many": ValueCase(
        "g (float16[1, 4096] a) => (float16[1, 1] y) <int64[1] axes = {1}> { y = ReduceMean (a, axes) }",
        {"a": np.full((1, 4096), 100, np.float16)},
        lambda a: a.astype(np.float64).mean(1, keepdims=True).astype(np.float16),
    ),
    "float16_product_of_many": ValueCase(
        "g (float16[1, 4096] a, float16[4096, 2] b) => (float16[1, 2] y) { y = MatMul (a, b) }",
        {"a": np.ones((1, 4096), np.float16), "b": np.ones((4096, 2), np.float16)},
        lambda a, b: (a.astype(np.float64) @ b.astype(np.float64)).astype(np.float16),
    ),
    "sigmoid_tails": ValueCase(
        "g (float[4] a) => (float[4] y) { y = Sigmoid (a) }",
        arrays("float32", a=[100, -100, -20, 0]),
        lambda a: (1 / (1 + np.exp(-a.astype(np.float64)))).astype(np.float32),
    ),
    "swish_tails": ValueCase(
        "g (float[4] a) => (float[4] y) { s = Sigmoid (a) y = Mul (a, s) }",
        arrays("float32", a=[100, -100, -90, 0]),
        lambda a: (a / (1 + np.exp(-a.astype(np.float64)))).astype(np.float32),
    ),
    "instance_norm_large_mean": ValueCase(
        "g (float[1, 2, 4, 4] a) => (float[1, 2, 4, 4] y) <float[2] s = {1.0, 1.0}, float[2] b = {0.0, 0.0}> "
        "{ y = InstanceNormalization (a, s, b) }",
        {"a": LARGE_MEAN},
        _instance_norm,
    ),
    "layer_norm_large_mean": ValueCase(
        "g (float[1, 8] a) => (float[1, 8] y) <float[8] s = {1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0}> { y = LayerNormalization (a, s) }",
        {"a": LARGE_MEAN.reshape(4, 8)[:1]},
        _layer_norm,
    ),
    "norm_of_large": ValueCase(
        "g (float[1, 3] a) => (float[1, 1] y) <int64[1] k = {1}> { y = ReduceL2 (a, k) }",
        arrays("float32", a=[[3e18, 4e18, 0]]),
        lambda a: np.array([[5e18]], np.float32),
    ),
    # Signs.
    "mod_of_negative": ValueCase(
        "g (int32[4] a, int32[4] b) => (int32[4] y) { y = Mod (a, b) }", arrays("int32", a=[-7, 7, -7, 7], b=[3, -3, -3, 3]), np.mod
    ),
    "fmod_of_negative": ValueCase(
        "g (float[4] a, float[4] b) => (float[4] y) { y = Mod <fmod = 1> (a, b) }",
        arrays("float32", a=[-7.5, 7.5, -7.5, 7.5], b=[3, -3, -3, 3]),
        np.fmod,
    ),
    "pow_of_negative": ValueCase(
        "g (float[3] a, float[3] b) => (float[3] y) { y = Pow (a, b) }", arrays("float32", a=[-2, -3, 0], b=[3, 2, 0]), np.power
    ),
    "cast_of_negative_half": ValueCase(
        "g (float[4] a) => (int32[4] y) { y = Cast <to = 6> (a) }",
        arrays("float32", a=[-1.5, 1.5, -0.9, 2.7]),
        lambda a: a.astype(np.int32),
    ),
    "gather_of_negative": ValueCase(
        "g (float[3, 2] a, int64[2] b) => (float[2, 2] y) { y = Gather (a, b) }",
        {**arrays("float32", a=[[1, 2], [3, 4], [5, 6]]), **arrays("int64", b=[-1, -3])},
        lambda a, b: a[b],
    ),
    # NaN.
    "nan_clip": ValueCase(
        "g (float[4] a) => (float[4] y) <float l = {0.0}, float h = {6.0}> { y = Clip (a, l, h) }",
        arrays("float32", a=[NAN, 1, -2, 9]),
        lambda a: np.clip(a, 0, 6),
    ),
    "nan_max": ValueCase(
        "g (float[4] a, float[4] b) => (float[4] y) { y = Max (a, b) }",
        arrays("float32", a=[NAN, 1, 2, 3], b=[1, NAN, 1, 5]),
        np.maximum,
    ),
    "nan_relu_of_sum": ValueCase(
        "g (float[4] a) => (float[4] y) { t = Add (a, a) y = Relu (t) }",
        arrays("float32", a=[NAN, 1, -2, INF]),
        lambda a: np.maximum(a + a, 0),
    ),
    "nan_becomes_bool": ValueCase(
        "g (float[4] a) => (bool[4] y) { t = Add (a, a) y = IsNaN (t) }", arrays("float32", a=[NAN, 1, -2, INF]), np.isnan
    ),
    "nan_in_comparison": ValueCase(
        "g (float[4] a) => (float[4] y) <float z = {0.0}, float one = {1.0}> { c = Greater (a, z) y = Where (c, one, z) }",
        arrays("float32", a=[NAN, 1, -2, INF]),
        lambda a: (a > 0).astype(np.float32),
    ),
}
