"""Reorders as calls of Relax: they move elements as the blocked toolchains have them, and undo each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402

from collage_core.toolchains import blocked_layout  # noqa: E402
from collage_core.transform.blocked_tensors import is_held_blocked, to_blocked, to_plain  # noqa: E402

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
