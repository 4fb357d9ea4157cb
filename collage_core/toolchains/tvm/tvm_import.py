"""Imports an ONNX sub-model as a Relax module with one function ``main``, or says why TVM does not take it. Nothing is compiled.

TVM's importer ignores the domains of operators, only warns of errors that ONNX's checker finds, and prints when it fails. This file
checks domains and outputs, and keeps it silent. Some operators are imported otherwise than TVM does (`Importer`).
"""

from __future__ import annotations

import contextlib
import io
import logging
import warnings
from collections.abc import Iterator, Sequence
from math import prod
from typing import Any

import numpy as np
import onnx
import tvm
from onnx import ModelProto, numpy_helper
from tvm import relax
from tvm.relax.frontend.onnx.onnx_frontend import ONNXGraphImporter

from ...graph.dataflow_graph import Tensor
from ...model.model import SubModel
from ...model.nodes import all_nodes, domain_of
from ...model.shapes.inference import infer
from ..border import one_line, with_weights_inside
from ..toolchain import ToolchainError
from .tvm_operators import MICROSOFT

_SUMS = frozenset(
    {"AveragePool", "CumSum", "Einsum", "GlobalAveragePool", "GlobalLpPool", "InstanceNormalization", "LpPool", "ReduceL1", "ReduceL2"}
    | {"ReduceLogSum", "ReduceLogSumExp", "ReduceMean", "ReduceSum", "ReduceSumSquare"}
)
"""Operators that sum elements of one tensor, which TVM does in halves where they are halves: the mean of 700 hundreds is infinite. Products
keep their operator (`tvm_halves`), and norms of layers and groups are summed in float32 by TVM."""

UNSUPPORTED_DTYPES = frozenset({"string", "bfloat16", "int4", "uint4", "complex64", "complex128"})


def import_onnx(model: SubModel) -> tvm.IRModule:
    """Return `model` as TVM's importer reads it, with weights as constants.

    Raises:
        ToolchainError: at stage ``import``.
    """
    proto = checked_model(model)
    try:
        with quiet():
            module = Importer().read(proto)
    except Exception as error:  # any exception of TVM is its reason
        raise ToolchainError("import", one_line(error)) from error
    _check_outputs(module["main"], model.outputs)
    return module


class Importer(ONNXGraphImporter):
    """TVM's importer, which makes weights constants, and computes two kinds of operators otherwise.

    An exponential of float32 is the square of that of half the number: TVM's own is infinite from 88.4 on, and float32 holds those up to
    88.7. What sums halves does so in float32 (`_SUMS`).
    """

    def __init__(self) -> None:
        super().__init__({}, "float32", keep_params_in_input=False)

    def read(self, proto: ModelProto) -> tvm.IRModule:
        """Return `proto` as a module."""
        version = next((one.version for one in proto.opset_import if one.domain in ("", "ai.onnx")), 1)
        return self.from_onnx(proto.graph, version)

    def _convert_operator(self, op_name: str, inputs: Any, attrs: dict[str, Any], opset: int) -> Any:
        if op_name == "Exp" and inputs[0].ty.dtype == "float32":
            root = self.bb.emit(relax.op.exp(relax.op.multiply(inputs[0], relax.const(0.5, "float32"))))
            return self.bb.normalize(relax.op.multiply(root, root))
        if op_name in _SUMS and inputs[0].ty.dtype == "float16":
            wide = type(inputs)([self.bb.emit(relax.op.astype(one, "float32")) if _is_half(one) else one for one in inputs])
            made = self.bb.emit(super()._convert_operator(op_name, wide, attrs, opset))
            return self.bb.normalize(relax.op.astype(made, "float16"))
        return super()._convert_operator(op_name, inputs, attrs, opset)


def _is_half(value: Any) -> bool:
    return value is not None and getattr(value.ty, "dtype", "") == "float16"


def checked_model(model: SubModel) -> ModelProto:
    """Return the ONNX model in `model`. Raises ToolchainError, at stage ``import``, where it has what TVM's importer gets wrong."""
    _refuse_tensors((*model.inputs, *model.outputs))
    try:
        proto = onnx.load_model_from_string(with_weights_inside(model).onnx)
    except ToolchainError:
        raise
    except Exception as error:  # any exception of the parser is the reason
        raise ToolchainError("import", one_line(error)) from error
    _refuse_foreign(proto)
    _refuse_uneven_scales(proto)
    return proto


def output_types(function: Any) -> list[Any]:
    """Return the Relax types of the outputs of `function`; those of the fields where it returns a tuple."""
    returned = function.ret_ty
    return list(returned.fields) if isinstance(returned, relax.TupleType) else [returned]


def _refuse_tensors(tensors: Sequence[Tensor]) -> None:
    for tensor in tensors:
        if tensor.type.dtype in UNSUPPORTED_DTYPES:
            raise ToolchainError("import", f"tensors of dtype {tensor.type.dtype} are not supported ({tensor.name!r})")
        if 0 in tensor.type.shape:
            raise ToolchainError("import", f"tensors without elements are not supported ({tensor.name!r} is {list(tensor.type.shape)})")


def _refuse_foreign(proto: ModelProto) -> None:
    if proto.functions:
        raise ToolchainError("import", f"functions inside a model are not supported ({proto.functions[0].name!r})")
    for node in all_nodes(proto.graph):
        domain = domain_of(node)
        if domain == "com.microsoft" and node.op_type in MICROSOFT:
            continue
        if domain:
            raise ToolchainError("import", f"operator {domain}.{node.op_type} is not supported")
        if node.op_type == "Attention":
            raise ToolchainError("import", "operator Attention is supported in the domain com.microsoft only")


def _refuse_uneven_scales(proto: ModelProto) -> None:
    """Raise ToolchainError for a Resize by scales that make no whole sizes: TVM computes by the sizes, and other numbers."""
    resizes = [node for node in proto.graph.node if node.op_type == "Resize" and len(node.input) > 2 and node.input[2]]
    if not resizes:
        return
    constants = {tensor.name: tensor for tensor in proto.graph.initializer}
    types = infer(proto).types
    for node in resizes:
        scales, data = constants.get(node.input[2]), types.get(node.input[0])
        if scales is None or data is None or len(data.shape) != prod(scales.dims):
            continue  # the importer has words of its own for these
        sizes = np.array(data.shape) * numpy_helper.to_array(scales).astype(np.float64)
        if np.any(np.abs(sizes - np.rint(sizes)) > 1e-4):
            found = f"{node.name!r} resizes {list(data.shape)} by scales to no whole sizes"
            raise ToolchainError("import", f"{found}, which TVM computes wrong")


def _check_outputs(function: Any, outputs: Sequence[Tensor]) -> None:
    """Raise ToolchainError unless `function` returns the declared outputs: their buffers have the declared shapes and dtypes."""
    types = output_types(function)
    if len(types) != len(outputs):
        raise ToolchainError("import", f"the importer makes {len(types)} outputs where the model has {len(outputs)}")
    for tensor, kind in zip(outputs, types, strict=True):
        shape = _static_shape(kind)
        dtype = str(getattr(kind, "dtype", ""))
        if shape != tensor.type.shape or dtype != tensor.type.dtype:
            found = f"{dtype}{list(shape)}" if shape is not None else f"{one_line(str(kind))}, whose shape is open"
            raise ToolchainError(
                "import", f"the importer makes {tensor.name!r} a {found}, not {tensor.type.dtype}{list(tensor.type.shape)}"
            )


def _static_shape(kind: Any) -> tuple[int, ...] | None:
    shape = getattr(kind, "shape", None)
    if not isinstance(shape, relax.ShapeExpr):
        return None
    if not all(isinstance(extent, tvm.tirx.IntImm) for extent in shape.values):
        return None
    return tuple(int(extent.value) for extent in shape.values)


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Keep the importer's prints and warnings off the terminal inside the ``with`` block."""
    logger = logging.getLogger("tvm")
    before = logger.level
    with warnings.catch_warnings(), contextlib.redirect_stdout(io.StringIO()):
        warnings.simplefilter("ignore")
        logger.setLevel(logging.CRITICAL)
        try:
            yield
        finally:
            logger.setLevel(before)
