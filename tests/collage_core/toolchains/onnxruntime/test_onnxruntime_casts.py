"""Branches in half precision: ONNX Runtime reads what it saved, and computes what it did before."""

from __future__ import annotations

import numpy as np
from onnx import ModelProto

from collage_core.graph.dataflow_graph import Tensor, TensorType
from collage_core.model.model import SubModel
from collage_core.model.nodes import CAST_MARK
from collage_core.toolchains.conformance.small_models import reference
from collage_core.toolchains.onnxruntime.onnxruntime_casts import with_unique_casts
from collage_core.toolchains.registry import get
from tests.helpers.models import model_of, weights

HALVES = TensorType((4, 8), "float16")
TEXT = """g (float16[4,8] x, bool c) => (float16[4,8] y) {
    [before] s = Sigmoid(x)
    [if] r = If(c) <
        then_branch = t () => (float16[4,8] a) { m = MatMul(x, w) a = Relu(m) },
        else_branch = e () => (float16[4,8] b) { n = Sigmoid(x) b = Mul(n, s) }
    >
    [last] y = Tanh(r)
}"""


def branches() -> SubModel:
    model = model_of(TEXT, {"w": (weights(8, 8) / 4).astype(np.float16)}, opset=18)
    inputs = (Tensor("x", HALVES), Tensor("c", TensorType((), "bool")))
    return SubModel(model.SerializeToString(), inputs, (Tensor("y", HALVES),))


def test_what_is_saved_is_read_again_and_computes_the_same() -> None:
    model, toolchain = branches(), get("onnxruntime")
    package = toolchain.build(model, 1)
    kernel = toolchain.load(package, model.inputs, model.outputs, 1)
    for is_first in (True, False):
        given, made = [weights(4, 8, seed=7).astype(np.float16), np.array(is_first)], np.zeros((4, 8), np.float16)
        kernel.bind(given, [made])
        kernel.run()
        (wanted,) = reference(model, given)
        np.testing.assert_allclose(made, wanted, rtol=1e-2, atol=1e-3)


def test_inner_graphs_have_names_of_their_own_and_read_those_around_them() -> None:
    text = f"""g (float[2] x, bool c) => (float[2] y) {{ {CAST_MARK}o = Relu(x) y = If(c) <
        then_branch = t () => (float[2] a) {{ {CAST_MARK}x = Neg({CAST_MARK}o) a = If(c) <
            then_branch = u () => (float[2] d) {{ {CAST_MARK}x = Abs({CAST_MARK}o) d = Relu({CAST_MARK}x) }},
            else_branch = v () => (float[2] f) {{ f = Relu({CAST_MARK}x) }}
        > }},
        else_branch = e () => (float[2] b) {{ {CAST_MARK}x = Abs(x) b = Relu({CAST_MARK}x) }}
    > }}"""
    made = ModelProto.FromString(with_unique_casts(model_of(text).SerializeToString()))
    outer, inner = made.graph.node[1], made.graph.node[1].attribute[0].g.node[1]
    first, second = (attribute.g for attribute in outer.attribute)
    own, other = (attribute.g for attribute in inner.attribute)
    names = [graph.node[0].output[0] for graph in (first, second, own)]
    assert len({*names}) == 3
    assert first.node[0].input[0] == own.node[0].input[0] == f"{CAST_MARK}o"
    assert (other.node[0].input[0], own.node[1].input[0], second.node[1].input[0]) == (names[0], names[2], names[1])


def test_other_models_stay_as_they_are() -> None:
    model = model_of("g (float[2] x) => (float[2] y) { y = Relu(x) }").SerializeToString()
    assert with_unique_casts(model) is model
