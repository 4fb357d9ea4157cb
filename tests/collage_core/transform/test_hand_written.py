"""Modules as people write them: partitioned, built by codegens, compiled by TVM's default pipeline in a fresh process, and right.

Two functions with tuples in tuples, a symbolic batch with a `match_cast` and a PrimFunc of the user's, and no dataflow block but an `If`.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

tvm = pytest.importorskip("tvm")

from tvm.script import ir as I  # noqa: E402
from tvm.script import relax as R  # noqa: E402
from tvm.script import tirx as T  # noqa: E402

from collage_core.transform import CollagePartition  # noqa: E402
from collage_core.transform.collage_partition import Report  # noqa: E402
from tests.helpers.fresh_modules import computed, computed_in_fresh_process  # noqa: E402

RANDOM = np.random.default_rng(0)


@functools.cache
def tuples() -> Any:
    """A private function that returns a tuple in a tuple, and one that reads fields of fields."""

    @I.ir_module
    class Tuples:
        @R.function(private=True)
        def norm(x: R.Tensor((4, 16), "float32")) -> R.Tuple(
            R.Tensor((4, 1), "float32"), R.Tuple(R.Tensor((4, 16), "float32"), R.Tensor((4, 16), "float32"))
        ):
            with R.dataflow():
                mean = R.mean(x, axis=[1], keepdims=True)
                shifted = R.subtract(x, mean)
                spread = R.sqrt(R.mean(R.multiply(shifted, shifted), axis=[1], keepdims=True))
                scaled = R.divide(shifted, spread)
                R.output(mean, shifted, scaled)
            return (mean, (shifted, scaled))

        @R.function
        def main(x: R.Tensor((4, 16), "float32"), w: R.Tensor((16, 16), "float32")):
            cls = Tuples
            with R.dataflow():
                product = R.matmul(x, w)
                parts = cls.norm(product)
                inner = parts[1]
                out = R.add(R.nn.gelu(inner[1]), parts[0])
                R.output(out, parts)
            return (out, parts)

    return Tuples


@functools.cache
def symbolic() -> Any:
    """A symbolic batch, a PrimFunc of the user's in the middle, and a cast that says a shape."""

    @I.ir_module
    class Symbolic:
        @T.prim_func(s_tir=True)
        def triple(given: T.handle, made: T.handle):
            n = T.int64()
            a = T.match_buffer(given, (n, T.int64(32)), "float32")
            b = T.match_buffer(made, (n, T.int64(32)), "float32")
            for i, j in T.grid(n, T.int64(32)):
                with T.sblock("triple"):
                    vi, vj = T.axis.remap("SS", [i, j])
                    b[vi, vj] = a[vi, vj] * T.float32(3)

        @R.function
        def main(x: R.Tensor(("n", 32), "float32"), w: R.Tensor((32, 32), "float32")):
            n = T.int64()
            cls = Symbolic
            with R.dataflow():
                risen = R.nn.relu(R.matmul(x, w))
                tripled = R.call_tir(cls.triple, (risen,), out_ty=R.Tensor((n, 32), "float32"))
                heads = R.match_cast(R.reshape(tripled, R.shape([n, 4, 8])), R.Tensor((n, 4, 8), "float32"))
                out = R.permute_dims(R.nn.softmax(heads, axis=-1), axes=[0, 2, 1])
                R.output(out)
            return out

    return Symbolic


@functools.cache
def branches() -> Any:
    """No dataflow block, and an `If` in the middle."""

    @I.ir_module
    class Branches:
        @R.function
        def main(x: R.Tensor((2, 8), "float32"), w: R.Tensor((8, 8), "float32"), flag: R.Tensor((), "bool")):
            risen = R.nn.relu(R.matmul(x, w))
            if flag:
                inside = R.matmul(risen, w)
                chosen = R.tanh(inside)
            else:
                bent = R.sigmoid(risen)
                chosen = R.add(bent, risen)
            return R.nn.softmax(R.matmul(chosen, w), axis=1)

    return Branches


def values(*shapes: tuple[int, ...]) -> list[np.ndarray]:
    return [RANDOM.standard_normal(shape).astype("float32") for shape in shapes]


CASES: dict[str, tuple[Callable[[], Any], dict[str, Any], list[np.ndarray], int]] = {
    "tuples": (tuples, {}, values((4, 16), (16, 16)), 3),
    "symbolic": (symbolic, {}, values((3, 32), (32, 32)), 0),
    "symbols fixed": (symbolic, {"shapes": {"x": (3, 32)}}, values((3, 32), (32, 32)), 2),
    "branches": (branches, {}, [*values((2, 8), (8, 8)), np.array(True)], 2),
}
"""Case → a module, options, arrays, and how many regions are partitioned."""


@pytest.mark.long
@pytest.mark.parametrize("name", CASES)
def test_a_module_computes_what_it_computed(name: str, tmp_path: Path) -> None:
    make, options, given, regions = CASES[name]
    module = make()
    report, expected = Report(), computed(module, given)
    made = CollagePartition(["onnxruntime"], costs="roofline", threads=1, report=report, **options)(module)
    assert len(report.regions) == regions
    for found, wanted in zip(computed_in_fresh_process(made, given, tmp_path), expected, strict=True):
        assert np.allclose(found, wanted, rtol=1e-5, atol=1e-5), np.abs(found - wanted).max()


@pytest.mark.long
def test_a_field_of_a_field_is_no_kernel() -> None:
    """`FuseOps` makes a kernel of it in which nothing is called, and `FuseTIR` refuses that."""
    make, _, given, _ = CASES["tuples"]
    module = make()
    made = CollagePartition(["tvm@fusion", "tvm"], costs="roofline", threads=1, codegen=True)(module)
    for found, wanted in zip(computed(made, given), computed(module, given), strict=True):
        assert np.allclose(found, wanted, rtol=1e-5, atol=1e-5)
