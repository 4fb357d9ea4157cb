"""A toolchain has an ability if its class has the members of the protocol; one that is written with four methods has none."""

from __future__ import annotations

import inspect
from typing import Any

import pytest

from collage_core.toolchains import abilities
from collage_core.toolchains.abilities import (
    LoadsAlone,
    OwnFiles,
    PlainTwin,
    Profiles,
    StatesCosts,
    Tunes,
    check_boundary,
    conflicts_of,
    has_value_contract,
    layout_of,
    lowers_precision,
    takes_opaque,
    takes_open_shapes,
)
from collage_core.toolchains.conformance.small_models import found, sub_model, tensor
from collage_core.toolchains.registry import get
from collage_core.toolchains.toolchain import Toolchain, ToolchainError
from tests.helpers.plug_ins import Dummy

PROTOCOLS = [kind for _, kind in inspect.getmembers(abilities, inspect.isclass) if getattr(kind, "_is_runtime_protocol", False)]


def has(toolchain: Toolchain) -> set[str]:
    return {kind.__name__ for kind in PROTOCOLS if isinstance(toolchain, kind)}


def test_a_toolchain_of_four_methods_has_none():
    own = {name for name, value in vars(Toolchain).items() if getattr(value, "__isabstractmethod__", False)}
    assert own == {"availability", "rule", "build", "load"}
    assert len(PROTOCOLS) > 20
    assert has(Dummy()) == set()
    assert (conflicts_of(Dummy()), layout_of(Dummy())) == ((), "")
    assert not any(ask(Dummy()) for ask in (takes_open_shapes, takes_opaque, lowers_precision, has_value_contract))


def test_the_bundled_ones_have_what_they_can_do():
    assert has(get("tvm")) == {"MeasuredValues", "MakesRelax", "Tunes"}
    assert has(get("tvm@fusion")) == {"MeasuredValues", "MakesRelax", "Tunes", "MakesPartitionings", "PreparesRelax", "MergedPartitions"}
    assert has(get("onednn")) == has(get("blas")) == {"CallsLibraries", "PreparesRelax"}
    assert has(get("ncnn@nchw16c")) == {"MeasuredValues", "Profiles", "BoundaryLayout", "PlainTwin"}
    blocked = has(get("onnxruntime@nchw16c"))
    assert has(get("onnxruntime")) - blocked == {"OwnFiles"}
    assert blocked - has(get("onnxruntime")) == {"BoundaryLayout", "PlainTwin"}


class Able(Dummy):
    """Has abilities by its members alone, and imports nothing of `abilities`."""

    takes_open_shapes = True
    takes_opaque = False
    lowers_precision = True
    has_value_contract = True
    conflicts = ("tvm",)
    layout = "nchw16c"
    plain = "dummy"

    def profile(self, model: Any, inputs: Any, threads: int) -> None: ...

    def workloads(self, model: Any, threads: int) -> tuple[Any, ...]: ...

    def tune(self, model: Any, threads: int, seconds: float, known: bytes) -> Any: ...

    def cost_s(self, candidate: Any) -> float: ...

    def load_alone(self, package: bytes, inputs: Any, outputs: Any, threads: int) -> Any: ...

    def native_files(self, model: Any, threads: int, is_alone: bool) -> Any: ...


def test_members_are_enough():
    toolchain = Able()
    assert all(isinstance(toolchain, kind) for kind in (Profiles, Tunes, StatesCosts, LoadsAlone, PlainTwin))
    assert not isinstance(toolchain, OwnFiles), "it cannot open its files"
    assert (conflicts_of(toolchain), layout_of(toolchain)) == (("tvm",), "nchw16c")
    assert takes_open_shapes(toolchain)
    assert not takes_opaque(toolchain), "it says no"
    assert lowers_precision(toolchain)
    assert has_value_contract(toolchain)


def test_a_boundary_that_is_not_taken_is_refused_at_import():
    opaque = sub_model([], [tensor("t", (2,), "string")], [])
    for toolchain, model, reason in (
        (Dummy(), found(), "'y' is int64[1, ?]: its shape differs from call to call, which is not supported"),
        (Able(), opaque, "'t' is string[2]: it is not a flat buffer, which is not supported"),
    ):
        with pytest.raises(ToolchainError) as caught:
            check_boundary(toolchain, model)
        assert (caught.value.stage, caught.value.message) == ("import", reason)
    check_boundary(Able(), found())
