"""The toolchain blas is right in what it takes, gives a reason for what it refuses, and without an OpenBLAS it says so."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from collage_core.model.model import SubModel
from collage_core.toolchains.conformance.small_models import drawn, matmul, node, normal, reference, sub_model, tensor
from collage_core.toolchains.libraries import blas
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import ToolchainError

TOOL = get("blas")
needed = pytest.mark.skipif(not TOOL.availability().usable, reason=TOOL.availability().reason)


def gemm(left: tuple[int, int], right: tuple[int, int], summand: tuple[int, ...] | None, **attributes: object) -> SubModel:
    inputs = [tensor("x", left), tensor("w", right), *([] if summand is None else [tensor("c", summand)])]
    rows, columns = left[1 if attributes.get("transA") else 0], right[0 if attributes.get("transB") else 1]
    nodes = [node("Gemm", " ".join(one.name for one in inputs), "y", **attributes)]
    return sub_model(nodes, inputs, [tensor("y", (rows, columns))])


def added(shape: tuple[int, ...], made: tuple[int, ...] = (2, 5, 6)) -> SubModel:
    nodes = [node("MatMul", "x w", "m"), node("Add", "c m", "y")]
    return sub_model(nodes, [tensor("x", (2, 5, 7)), tensor("c", shape)], [tensor("y", made)], {"w": normal(7, 6)})


def doubled() -> SubModel:
    nodes = [node("MatMul", "x w", "m"), node("Add", "m m", "y")]
    return sub_model(nodes, [tensor("x", (3, 3))], [tensor("y", (3, 3))], {"w": normal(3, 3)})


RIGHT: dict[str, Callable[[], SubModel]] = {
    "a bias": matmul,
    "a tensor of the same shape": lambda: added((2, 5, 6)),
    "a column": lambda: added((5, 1)),
    "no summand": lambda: gemm((4, 7), (7, 6), None),
    "both transposed, and scaled": lambda: gemm((7, 4), (6, 7), (6,), transA=1, transB=1, alpha=0.5, beta=2.0),
    "a number": lambda: gemm((4, 7), (7, 6), ()),
}


@needed
@pytest.mark.parametrize("name", RIGHT)
@pytest.mark.parametrize("threads", [1, 2])
def test_what_it_takes_is_right(name: str, threads: int):
    model = RIGHT[name]()
    kernel = TOOL.load(TOOL.build(model, threads), model.inputs, model.outputs, threads)
    inputs, made = drawn(model.inputs), np.full(model.outputs[0].type.shape, 7, np.float32)
    kernel.bind(inputs, [made])
    for _ in range(2):
        kernel.run()
        want = reference(model, inputs)[0]
        np.testing.assert_allclose(made, want, rtol=1e-5, atol=1e-5 * float(np.abs(want).max()))
        inputs[0] *= np.float32(0.5)


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (lambda: added((3, 2, 5, 6), (3, 2, 5, 6)), "matmul_add: what is added makes the product larger"),
        (
            lambda: sub_model([node("MatMul", "x x", "y")], [tensor("x", (2, 3, 3))], [tensor("y", (2, 3, 3))]),
            "matmul: the second factor is no matrix",
        ),
        (
            lambda: sub_model(
                [node("MatMul", "x w", "m"), node("Add", "m m", "y")], [tensor("x", (3, 3))], [tensor("y", (3, 3))], {"w": normal(3, 3)}
            ),
            "matmul_add: a product that is added to itself",
        ),
        (lambda: gemm((0, 7), (7, 6), None), "gemm: a tensor without elements"),
    ],
)
def test_a_refusal_has_its_reason(model: Callable[[], SubModel], reason: str):
    with pytest.raises(ToolchainError) as caught:
        TOOL.build(model(), 1)
    assert (caught.value.stage, caught.value.message) == ("import", reason)


def test_without_an_openblas_it_is_not_usable(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(blas, "_library", lambda: None)
    found = TOOL.availability()
    assert (found.usable, found.reason) == (False, "no OpenBLAS was found")
    assert found.hint == "pip install scipy, whose wheels bring one, or apt install libopenblas0"
    blas._functions.cache_clear()
    with pytest.raises(ToolchainError, match="no OpenBLAS was found"):
        TOOL.build(matmul(), 1)
