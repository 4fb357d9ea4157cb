"""Every translated operator computes in ONNX Runtime what TVM computes, and what is not translated says why."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from collage_core.model.reference.accuracy import largest_error
from collage_core.model.reference.ort_session import OrtSession

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402
from tvm.relax import op  # noqa: E402

from collage_core.model.relax.module_functions import prepared, region_module  # noqa: E402
from collage_core.model.relax.operators.table import TABLE  # noqa: E402
from collage_core.model.relax.reading import run_module  # noqa: E402
from collage_core.model.relax.regions import divided  # noqa: E402

INPUTS = {
    "image": ((1, 8, 16, 16), "float32"),
    "kernel": ((8, 8, 3, 3), "float32"),
    "line": ((1, 8, 20), "float32"),
    "line_kernel": ((4, 8, 3), "float32"),
    "channels": ((8,), "float32"),
    "columns": ((16,), "float32"),
    "matrix": ((4, 6), "float32"),
    "square": ((6, 6), "float32"),
    "part": ((4, 6), "float32"),
    "heads": ((1, 5, 2, 8), "float32"),
    "mask": ((1, 2, 5, 5), "float32"),
    "positive": ((4, 6), "float32"),
    "indices": ((3,), "int64"),
    "places": ((4, 6), "int64"),
    "rows": ((3, 1), "int64"),
    "updates": ((3, 6), "float32"),
    "integers": ((4, 6), "int32"),
    "bits": ((4, 6), "bool"),
    "bytes": ((4, 6), "int8"),
}


def values() -> dict[str, np.ndarray]:
    random = np.random.default_rng(0)
    made = {}
    for name, (shape, dtype) in INPUTS.items():
        drawn = random.standard_normal(shape)
        made[name] = drawn.astype(dtype) if dtype == "float32" else random.integers(0, 3, shape).astype(dtype)
    made["positive"] = np.abs(made["positive"]) + 0.5
    made["indices"] = np.array([2, 0, 1])
    made["rows"] = np.array([[2], [0], [3]])
    return made


Make = Callable[[dict[str, Any]], Any]

UNARY = [
    "acos", "acosh", "asin", "asinh", "atan", "atanh", "ceil", "cos", "cosh", "erf", "exp", "floor", "log", "negative", "rsqrt",
    "sigmoid", "sign", "sin", "sinh", "sqrt", "square", "tan", "tanh", "abs", "isnan", "isinf", "nn.relu", "nn.relu6", "nn.silu",
    "nn.gelu", "nn.gelu_tanh", "nn.selu", "nn.softplus", "nn.leakyrelu",
]  # fmt: skip
BINARY = [
    "add", "subtract", "multiply", "divide", "maximum", "minimum", "equal", "less", "less_equal", "greater", "greater_equal",
    "not_equal", "floor_divide",
]  # fmt: skip

CASES: dict[str, Make] = {
    **{name: (lambda v, name=name: _named(name)(v["positive" if name in _POSITIVE else "small"])) for name in UNARY},
    **{name: (lambda v, name=name: _named(name)(v["matrix"], v["part"])) for name in BINARY},
    "power": lambda v: op.power(v["positive"], v["part"]),
    "broadcast add": lambda v: op.add(v["image"], op.reshape(v["channels"], (8, 1, 1))),
    "logical_and": lambda v: op.logical_and(v["bits"], v["bits"]),
    "logical_or": lambda v: op.logical_or(v["bits"], v["bits"]),
    "logical_xor": lambda v: op.logical_xor(v["bits"], v["bits"]),
    "logical_not": lambda v: op.logical_not(v["bits"]),
    "bitwise_and": lambda v: op.bitwise_and(v["integers"], v["integers"]),
    "bitwise_or": lambda v: op.bitwise_or(v["integers"], v["integers"]),
    "bitwise_xor": lambda v: op.bitwise_xor(v["integers"], v["integers"]),
    "bitwise_not": lambda v: op.bitwise_not(v["integers"]),
    "floor_mod": lambda v: op.floor_mod(v["integers"], relax.const(2, "int32")),
    "mod": lambda v: op.mod(v["integers"], relax.const(2, "int32")),
    "where": lambda v: op.where(v["bits"], v["matrix"], v["part"]),
    "astype": lambda v: op.astype(v["integers"], "float32"),
    "clip": lambda v: op.clip(v["matrix"], -0.5, 0.5),
    "nn.prelu": lambda v: op.nn.prelu(v["image"], v["channels"], 1),
    "hint_on_device": lambda v: op.exp(op.hint_on_device(v["matrix"], tvm.cpu())),
    "nn.dropout": lambda v: relax.TupleGetItem(op.nn.dropout(v["matrix"]), 0),
    "quantize": lambda v: op.quantize(v["matrix"], relax.const(0.1), relax.const(1, "int8"), 1, "int8"),
    "dequantize": lambda v: op.dequantize(v["bytes"], relax.const(0.1), relax.const(1, "int8"), 1, "float32"),
    "nn.conv2d": lambda v: op.nn.conv2d(v["image"], v["kernel"], strides=2, padding=1),
    "nn.conv2d dilated": lambda v: op.nn.conv2d(v["image"], v["kernel"], padding=(0, 1, 2, 3), dilation=(1, 2)),
    "nn.conv2d_transpose": lambda v: op.nn.conv2d_transpose(v["image"], v["kernel"], strides=2, padding=1, output_padding=1),
    "nn.conv1d": lambda v: op.nn.conv1d(v["line"], v["line_kernel"], padding=1),
    "nn.max_pool2d": lambda v: op.nn.max_pool2d(v["image"], (3, 3), strides=(2, 2), padding=(1, 1)),
    "nn.max_pool2d up": lambda v: op.nn.max_pool2d(v["image"], (3, 3), strides=(2, 2), ceil_mode=True),
    "nn.avg_pool2d": lambda v: op.nn.avg_pool2d(v["image"], (3, 3), padding=(1, 1)),
    "nn.avg_pool2d padded": lambda v: op.nn.avg_pool2d(v["image"], (3, 3), padding=(1, 1), count_include_pad=True),
    "nn.max_pool1d": lambda v: op.nn.max_pool1d(v["line"], 2, strides=2),
    "nn.adaptive_avg_pool2d": lambda v: op.nn.adaptive_avg_pool2d(v["image"], (1, 1)),
    "nn.adaptive_avg_pool2d 4": lambda v: op.nn.adaptive_avg_pool2d(v["image"], (4, 4)),
    "matmul": lambda v: op.matmul(v["matrix"], v["square"]),
    "nn.softmax": lambda v: op.nn.softmax(v["image"], axis=1),
    "nn.log_softmax": lambda v: op.nn.log_softmax(v["matrix"]),
    "nn.batch_norm": lambda v: relax.TupleGetItem(
        op.nn.batch_norm(v["image"], *[v["channels"]] * 3, op.abs(v["channels"]), axis=1, training=False), 0
    ),
    "nn.layer_norm": lambda v: op.nn.layer_norm(v["image"], v["columns"], v["columns"], axes=[-1]),
    "nn.rms_norm": lambda v: op.nn.rms_norm(v["image"], v["columns"], axes=[-1]),
    "nn.group_norm": lambda v: op.nn.group_norm(v["image"], v["channels"], v["channels"], 2, 1, [2, 3]),
    "nn.instance_norm": lambda v: op.nn.instance_norm(v["image"], v["channels"], v["channels"], 1, [2, 3]),
    "nn.attention": lambda v: op.nn.attention(v["heads"], v["heads"], v["heads"]),
    "nn.attention causal": lambda v: op.nn.attention(v["heads"], v["heads"], v["heads"], causal_mask="TopLeft"),
    "nn.attention masked": lambda v: op.nn.attention(v["heads"], v["heads"], v["heads"], bias=v["mask"], scale=0.3),
    "reshape": lambda v: op.reshape(v["matrix"], (2, 12)),
    "flatten": lambda v: op.flatten(v["matrix"]),
    "expand_dims": lambda v: op.expand_dims(v["matrix"], [0, 3]),
    "squeeze": lambda v: op.squeeze(v["image"], [0]),
    "squeeze all": lambda v: op.squeeze(v["image"]),
    "permute_dims": lambda v: op.permute_dims(v["image"], (0, 2, 3, 1)),
    "permute_dims back": lambda v: op.permute_dims(v["matrix"]),
    "concat": lambda v: op.concat([v["matrix"], v["part"]], 1),
    "stack": lambda v: op.stack([v["matrix"], v["part"]], 1),
    "split": lambda v: relax.TupleGetItem(op.split(v["matrix"], 2, 1), 1),
    "split at": lambda v: relax.TupleGetItem(op.split(v["matrix"], [2, 3], 1), 2),
    "strided_slice": lambda v: op.strided_slice(v["image"], [2, 3], [1, 0], [9, 16], [2, 3]),
    "flip": lambda v: op.flip(v["matrix"], 1),
    "take": lambda v: op.take(v["matrix"], v["indices"], 0),
    "take around": lambda v: op.take(v["matrix"], op.subtract(v["indices"], relax.const(1, "int64")), 0, mode="wrap"),
    "take to the end": lambda v: op.take(v["matrix"], op.multiply(v["indices"], relax.const(3, "int64")), 0, mode="clip"),
    "round": lambda v: op.round(op.multiply(v["matrix"], relax.const(3.0))),
    "round halves": lambda v: op.round(op.multiply(op.astype(v["integers"], "float32"), relax.const(-0.5))),
    "take flat": lambda v: op.take(v["channels"], v["indices"]),
    "gather_elements": lambda v: op.gather_elements(v["matrix"], v["places"], 1),
    "gather_nd": lambda v: op.gather_nd(v["matrix"], v["rows"]),
    "index_tensor": lambda v: op.index_tensor(v["matrix"], (v["indices"],)),
    "scatter_elements": lambda v: op.scatter_elements(v["matrix"], v["places"], v["part"], axis=0, reduction="add"),
    "scatter_nd": lambda v: op.scatter_nd(v["matrix"], v["rows"], v["updates"]),
    "broadcast_to": lambda v: op.broadcast_to(v["matrix"], (2, 4, 6)),
    "tile": lambda v: op.tile(v["matrix"], (2, 1, 3)),
    "repeat": lambda v: op.repeat(v["matrix"], 2, 0),
    "repeat flat": lambda v: op.repeat(v["matrix"], 3),
    "nn.pad": lambda v: op.nn.pad(v["image"], [0, 0, 0, 0, 1, 2, 3, 4], pad_mode="constant", pad_value=0.5),
    "nn.pad mirrored": lambda v: op.nn.pad(v["image"], [0, 0, 0, 0, 1, 2, 3, 4], pad_mode="reflect"),
    "image.resize2d": lambda v: op.image.resize2d(v["image"], (32, 24), method="linear", coordinate_transformation_mode="half_pixel"),
    "image.resize2d near": lambda v: op.image.resize2d(
        v["image"], (32, 32), method="nearest_neighbor", coordinate_transformation_mode="asymmetric", rounding_method="floor"
    ),
    "image.resize2d corners": lambda v: op.image.resize2d(
        v["image"], (31, 31), method="linear", coordinate_transformation_mode="align_corners"
    ),
    "full": lambda v: op.add(v["matrix"], op.full((4, 6), relax.const(2.5))),
    "full_like": lambda v: op.add(v["matrix"], op.full_like(v["matrix"], relax.const(1.5))),
    "zeros": lambda v: op.add(v["matrix"], op.zeros((4, 6), "float32")),
    "zeros_like": lambda v: op.add(v["matrix"], op.zeros_like(v["matrix"])),
    "ones": lambda v: op.add(v["matrix"], op.ones((4, 6), "float32")),
    "ones_like": lambda v: op.add(v["matrix"], op.ones_like(v["matrix"])),
    "arange": lambda v: op.add(v["places"], op.arange(0, 12, 2, "int64")),
    "tril": lambda v: op.tril(v["square"], 1),
    "triu": lambda v: op.triu(v["square"], -1),
    "one_hot": lambda v: op.one_hot(v["indices"], relax.prim_value(1.0), relax.prim_value(0.0), 4, -1),
    "sum": lambda v: op.sum(v["matrix"], axis=[1], keepdims=True),
    "mean": lambda v: op.mean(v["image"], axis=[2, 3]),
    "max": lambda v: op.max(v["matrix"], axis=0),
    "min": lambda v: op.min(v["matrix"]),
    "prod": lambda v: op.prod(v["matrix"], axis=[-1]),
    "variance": lambda v: op.variance(v["matrix"], axis=[1]),
    "std": lambda v: op.std(v["matrix"], axis=[1]),
    "argmax": lambda v: op.argmax(v["matrix"], axis=1),
    "argmin": lambda v: op.argmin(v["matrix"], axis=0, keepdims=True),
    "topk": lambda v: relax.TupleGetItem(op.topk(v["matrix"], 2, axis=1), 0),
    "topk places": lambda v: op.topk(v["matrix"], 3, axis=1, ret_type="indices", dtype="int64"),
    "sort": lambda v: op.sort(v["matrix"], 1, True),
    "cumsum": lambda v: op.cumsum(v["matrix"], axis=0),
    "cumsum before": lambda v: op.cumsum(v["matrix"], axis=1, exclusive=True),
    "einsum": lambda v: op.einsum((v["matrix"], v["square"]), "ij,jk->ik"),
    "shape_to_tensor": lambda v: op.add(op.shape_to_tensor(op.shape_of(v["matrix"])), relax.const(np.array([1, 2]), "int64")),
}  # fmt: skip
_POSITIVE = {"log", "rsqrt", "sqrt", "acosh"}


def _named(name: str) -> Callable[..., Any]:
    found: Any = op
    for part in name.split("."):
        found = getattr(found, part)
    return found  # type: ignore[no-any-return]


def module_of(cases: dict[str, Make]) -> Any:
    """A function with every case as one of its outputs."""
    builder = relax.BlockBuilder()
    parameters = {name: relax.Var(name, relax.TensorType(*given)) for name, given in INPUTS.items()}
    with builder.function("main", list(parameters.values())):
        with builder.dataflow():
            known = {**parameters, "small": builder.emit(op.multiply(parameters["matrix"], relax.const(0.2)))}
            made = [builder.emit_output(builder.normalize(make(known)), f"out{at}") for at, make in enumerate(cases.values())]
        builder.emit_func_output(relax.Tuple(made))
    return builder.get()


@pytest.mark.long
def test_each_computes_the_same() -> None:
    module = prepared(module_of(CASES), "main", {})
    found = divided(module["main"])
    regions, left = found.regions, found.left
    assert [(one.name, one.reason) for one in left] == []
    (region,) = regions
    given = values()
    proto = region.model("all")
    names = [value.name for value in proto.graph.output]
    found = OrtSession(proto).run({name: given[name] for name in region.inputs}, names)
    expected = run_module(tvm.ir.save_json(region_module(region)), [given[name] for name in region.inputs])
    wrong = {}
    for case, var, array in zip(CASES, region.outputs, expected, strict=True):
        name = names[region.outputs.index(var)]
        if found[name].shape != array.shape or found[name].dtype != array.dtype:
            wrong[case] = f"{found[name].dtype}{found[name].shape}, not {array.dtype}{array.shape}"
        elif not largest_error({"y": found[name]}, {"y": array}) <= 1e-5:
            wrong[case] = str(largest_error({"y": found[name]}, {"y": array}))
    assert wrong == {}


def test_each_of_the_table_has_a_case() -> None:
    cased = {case.split(" ")[0] for case in CASES} | {"nn.attention_bias"}
    missing = {name.removeprefix("relax.") for name in TABLE} - cased
    rest = {"nn.conv3d", "nn.conv1d_transpose", "nn.conv3d_transpose", "nn.max_pool3d", "nn.avg_pool1d", "nn.avg_pool3d",
            "nn.adaptive_avg_pool1d", "nn.adaptive_avg_pool3d"}  # fmt: skip
    assert missing == rest, "those differ from a case of theirs by the number of dimensions only"


@pytest.mark.parametrize(
    ("make", "reason"),
    [
        (lambda v: op.nn.conv2d(v["image"], op.reshape(v["kernel"], (8, 3, 3, 8)), kernel_layout="OHWI"), "has the layouts NCHW and OHWI"),
        (lambda v: relax.TupleGetItem(op.nn.batch_norm(v["image"], *[v["channels"]] * 4, axis=1, training=True), 0), "it trains|trains: "),
        (lambda v: op.mod(v["matrix"], v["part"]), "takes the remainder of floats"),
        (lambda v: op.nn.adaptive_avg_pool2d(v["image"], (5, 5)), "windows of different sizes"),
        (lambda v: op.hint_on_device(v["matrix"], tvm.cuda()), "binds its value to the device cuda:0"),
        (lambda v: op.nonzero(v["matrix"]), "has no ONNX equivalent here"),
    ],
)  # fmt: skip
def test_what_is_not_translated_says_why(make: Make, reason: str) -> None:
    module = prepared(module_of({"one": make}), "main", {})
    left = divided(module["main"]).left
    assert len([one for one in left if __import__("re").search(reason, one.reason)]) == 1, left
