"""Reductions, scans, sorting, and products by a formula."""

from __future__ import annotations

import numpy as np

from ...types.dtypes import elem_type
from .call_writer import CallWriter, Untranslatable, Written
from .table import translates

_REDUCTIONS = {"sum": "ReduceSum", "mean": "ReduceMean", "max": "ReduceMax", "min": "ReduceMin", "prod": "ReduceProd"}


@translates(*_REDUCTIONS)
def reduce(call: CallWriter) -> Written:
    return _reduced(call, _REDUCTIONS[call.call.op.name.removeprefix("relax.")], call.tensor(0), call.attr("keepdims"))


def _reduced(call: CallWriter, op: str, tensor: str, keeps: bool) -> str:
    rank, axes = len(call.shape(0)), call.attr("axis")
    chosen = list(range(rank)) if axes is None else [int(axis) % rank for axis in axes]
    return str(call.emit(op, [tensor, call.constant(chosen, "axes", "int64")], keepdims=int(keeps)))


@translates("variance")
def variance(call: CallWriter) -> Written:
    return _variance(call)


@translates("std")
def standard_deviation(call: CallWriter) -> Written:
    return str(call.emit("Sqrt", [_variance(call)]))


def _variance(call: CallWriter) -> str:
    if hasattr(call.call.attrs, "correction") and call.attr("correction"):
        raise Untranslatable("is corrected for a sample")
    centred = call.emit("Sub", [call.tensor(0), _reduced(call, "ReduceMean", call.tensor(0), True)])
    return _reduced(call, "ReduceMean", call.emit("Mul", [centred, centred]), call.attr("keepdims"))


@translates("argmax", "argmin")
def arg(call: CallWriter) -> Written:
    op = {"relax.argmax": "ArgMax", "relax.argmin": "ArgMin"}[call.call.op.name]
    axis, keeps, data = call.attr("axis"), int(call.attr("keepdims")), call.tensor(0)
    if axis is None:
        if keeps:
            raise Untranslatable("keeps the dimensions of all axes")
        data, axis = call.emit("Reshape", [data, call.constant([-1], "flat", "int64")]), 0
    found = call.emit(op, [data], axis=int(axis), keepdims=keeps)
    return _cast(call, found, call.out_dtype)


def _cast(call: CallWriter, tensor: str, dtype: str, made: str = "int64") -> str:
    return tensor if dtype == made else str(call.emit("Cast", [tensor], to=elem_type(dtype)))


@translates("topk")
def topk(call: CallWriter) -> Written:
    count, axis = int(call.attr("k")), int(call.attr("axis"))
    extent = call.shape(0)[axis]
    number = call.constant([count if count > 0 else extent], "k", "int64")
    values, indices = call.emit("TopK", [call.tensor(0), number], outputs=2, axis=axis, largest=int(call.attr("largest")))
    wanted = call.attr("ret_type")
    if wanted == "values":
        return str(values)
    dtype = call.attr("dtype")
    indices = _cast(call, indices, dtype)
    return indices if wanted == "indices" else (values, indices)


@translates("sort")
def sort(call: CallWriter) -> Written:
    axis = int(call.attr("axis"))
    number = call.constant([call.shape(0)[axis]], "k", "int64")
    outputs = call.emit("TopK", [call.tensor(0), number], outputs=2, axis=axis, largest=int(call.attr("descending")))
    return str(outputs[0])


@translates("cumsum")
def cumsum(call: CallWriter) -> Written:
    axis, data = call.attr("axis"), call.tensor(0)
    if axis is None:
        data, axis = call.emit("Reshape", [data, call.constant([-1], "flat", "int64")]), 0
    data = _cast(call, data, call.out_dtype, call.dtype(0))
    exclusive = int(bool(call.attr("exclusive")))
    return str(call.emit("CumSum", [data, call.constant(int(axis), "axis", "int64")], exclusive=exclusive))


@translates("einsum")
def einsum(call: CallWriter) -> Written:
    return str(call.emit("Einsum", call.tensors(0), equation=str(np.str_(call.attr("subscripts")))))
