"""Reorders as calls of Relax: they move elements as the blocked toolchains have them, and undo each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402

from collage_core.model.relax.flat_model import flat_model  # noqa: E402
from collage_core.toolchains import blocked_layout  # noqa: E402
from collage_core.transform.blocked_tensors import (  # noqa: E402
    is_held_blocked,
    reorder_function,
    reorder_of,
    to_blocked,
    to_plain,
)
from collage_core.transform.encodings import Encode, Placement, as_byoc, as_primitive, kernel_function  # noqa: E402
from collage_core.transform.flattening import flattened  # noqa: E402

from .test_collage_partition import run  # noqa: E402

IMAGE = np.random.default_rng(0).standard_normal((1, 32, 3, 5)).astype("float32")


def moved(move: Callable[[Any, Any], Any]) -> Any:
    builder = relax.BlockBuilder()
    x = relax.Var("x", relax.TensorType(IMAGE.shape, "float32"))
    with builder.function("main", [x]):
        with builder.dataflow():
            out = builder.emit_output(move(x, lambda name, value: builder.emit(value, name)))
        builder.emit_func_output(out)
    return builder.get()


def test_reorders_move_elements_as_the_toolchains_do() -> None:
    blocked = run(moved(to_blocked), IMAGE)[0]
    assert np.array_equal(blocked, blocked_layout.to_blocked(IMAGE))
    assert np.array_equal(run(moved(to_plain), blocked)[0], IMAGE)


@pytest.mark.parametrize("encode", [as_byoc, as_primitive])
@pytest.mark.parametrize("blocked", [True, False])
def test_a_function_that_only_reorders_is_recognised(blocked: bool, encode: Encode) -> None:
    kind = relax.TensorType(IMAGE.shape, "float32")
    function = kernel_function("onnxruntime", encode(Placement("onnxruntime"), reorder_function(kind, blocked)))
    general, _ = flat_model("main", function)
    found = reorder_of(function, general)
    assert found is not None
    assert [node.op_type for node in ModelProto.FromString(found.onnx).graph.node] == ["ReorderInput" if blocked else "ReorderOutput"]
    assert (found.inputs, found.outputs) == (general.inputs, general.outputs)
    other = flattened(moved(lambda x, bind: to_plain(to_blocked(x, bind), bind))["main"])
    assert reorder_of(other, flat_model("main", other)[0]) is None


@pytest.mark.parametrize(
    ("kind", "held"),
    [
        (relax.TensorType((1, 32, 3, 5), "float32"), True),
        (relax.TensorType((1, 32, 1, 1), "float32"), False),
        (relax.TensorType((1, 32, 3, 5), "int8"), False),
        (relax.TensorType(dtype="float32", ndim=4), False),
        (relax.TupleType([relax.TensorType((1, 32, 3, 5), "float32")]), False),
    ],
)
def test_what_has_no_blocked_form_is_plain(kind: Any, held: bool) -> None:
    assert is_held_blocked(kind) == held
