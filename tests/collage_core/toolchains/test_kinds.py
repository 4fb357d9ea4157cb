"""The table of kinds against TVM's own analysis of every operator that TVM imports; a difference must be documented."""

from __future__ import annotations

import onnx
import pytest

from collage_core.graph.dataflow_graph import OpPatternKind, TensorType
from collage_core.model.model import SubModel
from collage_core.model.types.dtypes import dtype_name
from collage_core.model.types.kinds import DEPARTURES, kind_of
from collage_core.toolchains.registry import get
from collage_core.toolchains.tvm.tvm_operators import OPERATORS
from tests.helpers.operator_calls import CALLS, model_of

NOT_ASKED = {
    "Constant": "a constant, and no call",
    "If": "a node with inner graphs is opaque whatever it holds",
    "Shape": "its result is a shape in TVM, and no tensor",
}
needs_tvm = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)


def says_tvm(model: SubModel) -> str:
    """The letter of the greatest kind among the functions that the call becomes; O when it becomes none."""
    import tvm
    from tvm import relax

    from collage_core.toolchains.tvm.tvm_import import import_onnx

    passes = [relax.transform.DecomposeOpsForInference(), relax.transform.LegalizeOps(), relax.transform.AnnotateTIROpPattern()]
    with tvm.target.Target({"kind": "llvm"}):
        module = tvm.transform.Sequential(passes)(import_onnx(model))
    kinds = [int(function.attrs["op_pattern"]) for function in module.functions.values() if isinstance(function, tvm.tirx.PrimFunc)]
    return OpPatternKind(max(kinds)).letter if kinds else "O"


def says_the_table(op: str, model: SubModel) -> str:
    proto = onnx.load_model_from_string(model.onnx)
    types = {tensor.name: tensor.type for tensor in model.inputs}
    types |= {weight.name: TensorType(tuple(weight.dims), dtype_name(weight.data_type)) for weight in proto.graph.initializer}
    inputs = [types.get(name) for name in proto.graph.node[0].input]
    return kind_of(op, inputs, [tensor.type for tensor in model.outputs], has_inner_graph=False).letter


@needs_tvm
@pytest.mark.parametrize("op", CALLS)
def test_the_table_says_what_tvm_says_or_why_not(op: str):
    model = model_of(op)
    theirs, ours = says_tvm(model), says_the_table(op, model)
    if op in DEPARTURES:
        documented, reason = DEPARTURES[op]
        assert theirs == documented != ours
        assert reason
    else:
        assert ours == theirs


def test_every_operator_that_tvm_imports_is_asked_about():
    assert set(OPERATORS) == set(CALLS) | set(NOT_ASKED)
    assert not set(CALLS) & set(NOT_ASKED)
    assert set(DEPARTURES) <= set(CALLS)
