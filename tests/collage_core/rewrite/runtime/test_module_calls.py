"""Calls of an assembled module: which ones leave TVM's virtual machine out, that they compute the same, and that they allocate nothing."""

from __future__ import annotations

import gc
import tracemalloc
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rewrite.runtime.artifact import Artifact, function_groups
from collage_core.rewrite.runtime.calls import Inference
from collage_core.rewrite.runtime.manifest import PartitionEntry
from collage_core.toolchains.conformance.small_models import node, sub_model, tensor
from collage_core.toolchains.onnxruntime.onnxruntime import OnnxRuntimeToolchain
from collage_core.toolchains.registry import get
from tests.helpers.functions_called import functions_called

pytestmark = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)

X = tensor("x", (2, 3))
SMALLEST_OBJECT = 16
"""Bytes; other threads of the test's process allocate too, now and then, but not in each of three tries."""


def relu(reads: str, makes: str, target: str = "onnxruntime") -> PartitionModel:
    return PartitionModel(
        target, (makes,), sub_model([node("Relu", reads, makes)], [tensor(reads, (2, 3))], [tensor(makes, (2, 3))]), makes
    )


def opened(folder: Path, pieces: Sequence[PartitionModel], outputs: Sequence[str]) -> Artifact:
    assemble(pieces, [X], outputs, folder / "out", 1)
    return Artifact.open(folder / "out")


def count_entries(artifact: Artifact) -> list[None]:
    """Return a list that grows with each call of the artifact's virtual machine."""
    entries: list[None] = []
    main = artifact.calls._main

    def counted(*arguments: Any) -> Any:
        entries.append(None)
        return main(*arguments)

    artifact.calls._main = counted
    return entries


def drawn(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).standard_normal((2, 3)).astype(np.float32)}


PLANS: dict[str, tuple[list[PartitionModel], str, int]] = {
    "one kernel": ([relu("x", "y")], "y", 1),
    "kernels in a row": ([relu("x", "a"), relu("a", "b"), relu("b", "y")], "y", 1),
    "an output is read on": ([relu("x", "y"), relu("y", "z")], "y z", 1),
    "a function of TVM among them": ([relu("x", "a"), relu("a", "y", "tvm")], "y", 4),
    "an output is copied": ([relu("x", "y")], "y x", 4),
    "an output is returned twice": ([relu("x", "y")], "y y", 4),
}


@pytest.mark.parametrize("name", PLANS)
def test_plans_of_kernels_alone_enter_the_virtual_machine_once(name: str, tmp_path: Path):
    pieces, outputs, calls = PLANS[name]
    artifact = opened(tmp_path, pieces, outputs.split())
    entries = count_entries(artifact)
    made = [(artifact.run(drawn(seed)), drawn(seed)) for seed in range(4)]
    for got, given in made:
        for output, array in got.items():
            np.testing.assert_array_equal(array, given.get(output, np.maximum(given["x"], 0)))
    assert len(entries) == calls


def test_a_plan_with_an_open_shape_enters_the_virtual_machine_at_every_call(tmp_path: Path):
    positions = tensor("y", (2, 3), "int64", (1,))
    piece = PartitionModel("onnxruntime", ("n",), sub_model([node("NonZero", "x", "y")], [X], [positions]), "n")
    artifact = opened(tmp_path, [piece], ["y"])
    entries = count_entries(artifact)
    made = [(artifact.run(given)["y"], np.nonzero(given["x"])) for given in ({"x": np.eye(2, 3, dtype=np.float32) * k} for k in (1, 0, 1))]
    for got, want in made:
        np.testing.assert_array_equal(got, np.array(want))
    assert len(entries) == 3


def test_kernels_run_in_the_order_in_which_the_module_called_them(tmp_path: Path):
    artifact = opened(tmp_path, [relu("a", "y"), relu("x", "a")], ["y"])
    artifact.run(drawn(0))
    assert [partition.entry.id for partition in artifact.calls._straight] == ["a", "y"]


def test_a_kernel_that_fails_at_a_later_call_is_named(tmp_path: Path):
    artifact = opened(tmp_path, [relu("x", "a"), relu("a", "y")], ["y"])
    want = artifact.run(drawn(0))
    failing = artifact.calls._partitions[1]
    run = failing.run

    def fail() -> None:
        raise MemoryError("no room")

    failing.run = fail
    with pytest.raises(CollageError, match="partition y on onnxruntime failed as it ran: no room"):
        artifact.run(drawn(1))
    failing.run = run
    np.testing.assert_array_equal(artifact.run(drawn(0))["y"], want["y"])


def test_a_bound_call_of_a_single_kernel_goes_to_its_toolchain_with_nothing_between(tmp_path: Path):
    artifact = opened(tmp_path, [relu("x", "y")], ["y"])
    call = artifact.bind(drawn(0))
    assert functions_called(call)[:2] == ["call", "run_with_iobinding"], "what ONNX Runtime calls itself comes after these"
    artifact.bind(drawn(1))
    call()
    np.testing.assert_array_equal(artifact.calls.outputs()["y"], np.maximum(drawn(1)["x"], 0))
    two = opened(tmp_path / "two", [relu("x", "a"), relu("a", "y")], ["y"])
    assert two.bind(drawn(0)) == two.calls.call


def test_a_single_kernel_that_fails_in_a_bound_call_is_named(tmp_path: Path):
    artifact = opened(tmp_path, [relu("x", "y")], ["y"])
    artifact.run(drawn(0))

    def fail() -> None:
        raise MemoryError("no room")

    kernel = artifact.calls._partitions[0]._kernel
    kernel.unguarded_run = lambda: fail  # type: ignore[attr-defined]
    with pytest.raises(CollageError, match="partition y on onnxruntime failed as it ran: no room"):
        artifact.bind(drawn(0))()


@pytest.mark.parametrize("name", PLANS)
def test_a_profile_tells_how_long_each_kernel_takes_inside_the_whole(name: str, tmp_path: Path):
    pieces, outputs, _ = PLANS[name]
    artifact = opened(tmp_path, pieces, outputs.split())
    found = artifact.profile(drawn(0))
    assert list(found.partitions) == [piece.id for piece in pieces if piece.target != "tvm"]
    assert all(0 < seconds < found.whole_s for seconds in found.partitions.values())
    assert 0 < found.rest_s < found.whole_s
    assert sorted(id for ids in found.functions for id in ids) == sorted(piece.id for piece in pieces if piece.target == "tvm")
    assert sum(found.functions.values()) <= found.whole_s
    np.testing.assert_array_equal(artifact.run(drawn(1))["y"], np.maximum(drawn(1)["x"], 0))


def test_functions_of_the_module_are_timed_from_kernel_to_kernel():
    def entry(id: str, **kind: str) -> PartitionEntry:
        return PartitionEntry(id, "tvm", "1", (id,), (), (), **kind)

    calls = [entry("a", function="f"), entry("b", function="g"), entry("c", symbol="s"), entry("host"), entry("d", function="h")]
    assert function_groups(calls) == {("a", "b"): (None, "c"), ("d",): ("c", None)}
    assert function_groups([entry("c", symbol="s"), entry("d", symbol="t")]) == {}
    inference = Inference(1.0, 9.0, {"c": [(3.0, 5.0)]})
    assert (inference.whole_s, inference.seconds("c"), inference.gap_s(None, "c"), inference.gap_s("c", None)) == (8.0, 2.0, 2.0, 4.0)


def test_only_the_kernel_of_a_plan_of_one_is_loaded_alone(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    loaded: list[str] = []
    for name in ("load", "load_alone"):
        whole = getattr(OnnxRuntimeToolchain, name)
        monkeypatch.setattr(OnnxRuntimeToolchain, name, lambda *given, name=name, whole=whole: loaded.append(name) or whole(*given))
    opened(tmp_path / "one", [relu("x", "y")], ["y"])
    opened(tmp_path / "two", [relu("x", "a"), relu("a", "y", "tvm")], ["y"])
    assert loaded == ["load_alone", "load"]


@pytest.mark.long
@pytest.mark.parametrize("target", ["onnxruntime", *(pytest.param(name, marks=pytest.mark.long) for name in ("openvino", "ncnn", "tvm"))])
def test_a_thousand_calls_allocate_nothing_that_stays(target: str, tmp_path: Path):
    if not get(target).availability().usable:
        pytest.skip(get(target).availability().reason)
    artifact = opened(tmp_path, [relu("x", "a", target), relu("a", "y", target)], ["y"])
    call = artifact.bind(drawn(0))
    for _ in range(10):
        call()
    written = [partition.written for partition in artifact.calls._partitions]
    grown = min(bytes_after(call, 2000) - bytes_after(call, 1000) for _ in range(3))
    assert grown < 1000 * SMALLEST_OBJECT
    assert [partition.written for partition in artifact.calls._partitions] == written


def bytes_after(call: Callable[[], None], count: int) -> int:
    """Return the bytes that so many calls leave allocated."""
    gc.collect()
    tracemalloc.start()
    try:
        for _ in range(count):
            call()
        gc.collect()
        return tracemalloc.get_traced_memory()[0]
    finally:
        tracemalloc.stop()
