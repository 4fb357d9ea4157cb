"""Calls of kernels without a module: what they compute, which kernels are bound once, and what a failure says."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from collage_core.errors import CollageError
from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.rewrite.runtime.piece_calls import PieceCalls, UnboundPiece
from collage_core.toolchains.conformance.small_models import node, sub_model, tensor
from collage_core.toolchains.onnxruntime.onnxruntime import OnnxRuntimeToolchain
from tests.helpers.functions_called import functions_called

X = tensor("x", (2, 3))


def relu(reads: str, makes: str) -> PartitionModel:
    model = sub_model([node("Relu", reads, makes)], [tensor(reads, (2, 3))], [tensor(makes, (2, 3))])
    return PartitionModel("onnxruntime", (makes,), model, makes)


def opened(folder: Path, pieces: Sequence[PartitionModel], outputs: Sequence[str]) -> Artifact:
    assemble(pieces, [X], outputs, folder / "out", 1, form="pieces")
    return Artifact(folder / "out")


def drawn(seed: int) -> dict[str, np.ndarray]:
    return {"x": np.random.default_rng(seed).standard_normal((2, 3)).astype(np.float32)}


PLANS: dict[str, tuple[list[PartitionModel], str]] = {
    "one kernel": ([relu("x", "y")], "y"),
    "kernels in a row": ([relu("x", "a"), relu("a", "b"), relu("b", "y")], "y"),
    "not in their order": ([relu("b", "y"), relu("x", "a"), relu("a", "b")], "y"),
    "an output is read on": ([relu("x", "y"), relu("y", "z")], "y z"),
    "an output is an input": ([relu("x", "y")], "y x"),
    "an output is returned twice": ([relu("x", "y")], "y y"),
}


@pytest.mark.parametrize("name", PLANS)
def test_every_call_computes_on_its_own_inputs(name: str, tmp_path: Path):
    pieces, outputs = PLANS[name]
    artifact = opened(tmp_path, pieces, outputs.split())
    made = [(artifact.run(drawn(seed)), drawn(seed)) for seed in range(4)]
    for got, given in made:
        for output, array in got.items():
            np.testing.assert_array_equal(array, given.get(output, np.maximum(given["x"], 0)))


def test_buffers_are_written_and_read_in_place(tmp_path: Path):
    artifact = opened(tmp_path, [relu("x", "a"), relu("a", "y")], ["y"])
    given = artifact.buffers
    given["x"][...] = -1
    first = artifact.call()["y"]
    assert first.tolist() == [[0] * 3] * 2
    given["x"][...] = 2
    assert artifact.call()["y"] is first
    assert first.tolist() == [[2] * 3] * 2
    with pytest.raises(KeyError):
        given["y"]


def test_kernels_are_bound_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    bound: list[None] = []
    make = OnnxRuntimeToolchain.open_native

    def counted(*given: object) -> object:
        kernel = make(*given)  # type: ignore[arg-type]
        bind = kernel.bind
        kernel.bind = lambda *arrays: bound.append(None) or bind(*arrays)  # type: ignore[method-assign, func-returns-value]
        return kernel

    monkeypatch.setattr(OnnxRuntimeToolchain, "open_native", counted)
    artifact = opened(tmp_path, [relu("x", "a"), relu("a", "y")], ["y"])
    for seed in range(3):
        artifact.run(drawn(seed))
    assert len(bound) == 2


def test_only_what_touches_an_open_shape_is_bound_at_each_call(tmp_path: Path):
    positions, count = tensor("p", (2, 3), "int64", (1,)), tensor("c", (2,), "int64")
    found = PartitionModel("onnxruntime", ("n",), sub_model([node("NonZero", "a", "p")], [tensor("a", (2, 3))], [positions]), "n")
    counted = PartitionModel("onnxruntime", ("s",), sub_model([node("Shape", "p", "c")], [positions], [count]), "s")
    artifact = opened(tmp_path, [relu("x", "a"), found, counted], ["c", "p"])
    calls = artifact.calls
    assert isinstance(calls, PieceCalls)
    assert [isinstance(piece, UnboundPiece) for piece in calls._partitions] == [False, True, True]
    for given in (np.eye(2, 3), np.zeros((2, 3)), np.ones((2, 3))):
        got = artifact.run({"x": given.astype(np.float32)})
        np.testing.assert_array_equal(got["p"], np.nonzero(given))
        assert got["c"].tolist() == [2, np.count_nonzero(given)]


def test_a_kernel_that_fails_is_named(tmp_path: Path):
    artifact = opened(tmp_path, [relu("x", "a"), relu("a", "y")], ["y"])
    failing = artifact.calls._partitions[1]
    run = failing.run

    def fail() -> None:
        raise MemoryError("no room")

    failing.run = fail
    with pytest.raises(CollageError, match="partition y on onnxruntime failed as it ran: no room"):
        artifact.run(drawn(1))
    failing.run = run
    np.testing.assert_array_equal(artifact.run(drawn(0))["y"], np.maximum(drawn(0)["x"], 0))


def test_a_bound_call_of_a_single_kernel_goes_to_its_toolchain_with_nothing_between(tmp_path: Path):
    artifact = opened(tmp_path, [relu("x", "y")], ["y"])
    assert functions_called(artifact.bind(drawn(0)))[:2] == ["call", "run_with_iobinding"]


def test_a_profile_tells_how_long_each_kernel_takes_inside_the_whole(tmp_path: Path):
    found = opened(tmp_path, [relu("x", "a"), relu("a", "y")], ["y"]).profile(drawn(0))
    assert list(found.partitions) == ["a", "y"]
    assert all(0 < seconds < found.whole_s for seconds in found.partitions.values())
