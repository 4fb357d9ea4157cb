"""Guards of TVM's fusion: kernels without a call, and kernels of open shapes beside those of fixed ones, never reach `FuseTIR`."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

import pytest

tvm = pytest.importorskip("tvm")

from tvm import relax  # noqa: E402
from tvm.script import ir as I  # noqa: E402
from tvm.script import relax as R  # noqa: E402
from tvm.script import tirx as T  # noqa: E402

from collage_core.toolchains.tvm.tvm_fusion_guards import KeepProjections, KeepSymbolicKernels  # noqa: E402
from collage_core.toolchains.tvm.tvm_schedule import OPAQUE  # noqa: E402

transform = relax.transform


@functools.cache
def fields() -> Any:
    """A field of a field of what a call returns, for another call."""

    @I.ir_module
    class Fields:
        @R.function(private=True)
        def same(x: R.Tensor((4,), "float32")) -> R.Tensor((4,), "float32"):
            return x

        @R.function(private=True)
        def pair(x: R.Tensor((4,), "float32")) -> R.Tuple(R.Tensor((4,), "float32"), R.Tuple(R.Tensor((4,), "float32"))):
            return (x, (x,))

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            cls = Fields
            with R.dataflow():
                both = cls.pair(x)
                inner = both[1]
                out = cls.same(inner[0])
                R.output(out)
            return out

    return Fields


@functools.cache
def open_module() -> Any:
    """A PrimFunc of open shapes, called with fixed ones between two operators."""

    @I.ir_module
    class Open:
        @T.prim_func(s_tir=True)
        def triple(given: T.handle, made: T.handle):
            n = T.int64()
            a = T.match_buffer(given, (n,), "float32")
            b = T.match_buffer(made, (n,), "float32")
            for i in T.serial(n):
                with T.sblock("triple"):
                    vi = T.axis.remap("S", [i])
                    b[vi] = a[vi] * T.float32(3)

        @R.function
        def main(x: R.Tensor((4,), "float32")):
            cls = Open
            with R.dataflow():
                risen = R.exp(x)
                tripled = R.call_tir(cls.triple, (risen,), out_ty=R.Tensor((4,), "float32"))
                out = R.tanh(tripled)
                R.output(out)
            return out

    return Open


def fused(module: Any, *guards: Any) -> Any:
    """`module` after TVM's fusion, with `guards` before and after `FuseOps`."""
    before, after = guards or (tvm.transform.Sequential([]), tvm.transform.Sequential([]))
    passes = [transform.LegalizeOps(), transform.AnnotateTIROpPattern(), before, transform.FuseOps(), after, transform.FuseTIR()]
    return tvm.transform.Sequential(passes)(module)


@pytest.mark.parametrize("module", [fields, open_module])
def test_what_tvm_alone_refuses_is_fused(module: Callable[[], Any]) -> None:
    with pytest.raises(Exception, match="Check failed"):
        fused(module())
    relax.analysis.well_formed(fused(module(), KeepSymbolicKernels(), KeepProjections()))


def test_only_the_kernel_of_open_shapes_is_left_alone() -> None:
    made = tvm.transform.Sequential([transform.LegalizeOps(), transform.AnnotateTIROpPattern(), KeepSymbolicKernels()])(open_module())
    kinds = {str(name.name_hint): one for name, one in made.functions_items()}
    patterns = {name: int(one.attrs["op_pattern"]) for name, one in kinds.items() if isinstance(one, tvm.tirx.PrimFunc)}
    assert patterns.pop("triple") == OPAQUE
    assert set(patterns.values()) == {0}
