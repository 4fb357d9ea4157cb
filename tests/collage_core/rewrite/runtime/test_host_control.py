"""Nodes with bodies that the host runs: artifacts compute what ONNX Runtime does, on many inputs; and what cannot be run says so."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from onnx import ModelProto

from collage_core.errors import CollageError
from collage_core.graph.control_flow import BodySignature, ControlFlow
from collage_core.graph.dataflow_graph import Tensor, TensorType
from collage_core.model.onnx_model import load_model
from collage_core.model.reference.accuracy import largest_error
from collage_core.rewrite.runtime.artifact import Artifact
from collage_core.rewrite.runtime.control_entry import ControlEntry
from collage_core.rewrite.runtime.host_control import HostBody, HostControl
from collage_core.rewrite.runtime.manifest import PartitionEntry
from collage_core.toolchains.registry import get
from tests.helpers.control_models import assemble_plan, branches, choosing, drawn, host_plan, lstm_loop, nested, passing, picking, scan
from tests.helpers.models import write

pytestmark = pytest.mark.skipif(not get("tvm").availability().usable, reason=get("tvm").availability().reason)

MODELS: dict[str, tuple[Callable[[], ModelProto], Callable[[int], dict[str, int | bool]]]] = {
    "loop": (lstm_loop, lambda seed: {"turns": seed % 17, "go": seed != 13}),
    "if": (branches, lambda seed: {}),
    "scan": (scan, lambda seed: {}),
    "nested": (nested, lambda seed: {"turns": seed % 6}),
    "choosing": (choosing, lambda seed: {"flag": seed % 2 == 0}),
    "picking": (picking, lambda seed: {"flag": seed % 2 == 0}),
    "passing": (passing, lambda seed: {"turns": seed % 4, "flag": seed % 3 == 0}),
}


@pytest.mark.parametrize("name", MODELS)
def test_an_artifact_computes_what_onnx_runtime_does_on_50_inputs(name: str, tmp_path: Path) -> None:
    make, more = MODELS[name]
    model = load_model(write(tmp_path, make()))
    targets = ("onnxruntime", "tvm") if name == "if" else ("onnxruntime",)
    artifact = assemble_plan(model, host_plan(model, drawn(model, 0, **more(5)), targets), tmp_path / "out")
    for seed in range(50):
        given = drawn(model, seed, **more(seed))
        got, want = artifact.run(given), model.reference(given)
        assert {key: value.shape for key, value in got.items()} == {key: value.shape for key, value in want.items()}
        assert largest_error(got, want) < 1e-5


def test_the_bodies_lie_in_the_artifact_and_are_checked(tmp_path: Path) -> None:
    model = load_model(write(tmp_path, branches()))
    assemble_plan(model, host_plan(model, drawn(model, 0)), tmp_path / "out")
    data = json.loads((tmp_path / "out" / "artifact.json").read_text())
    (entry,) = [entry for entry in data["partitions"] if entry.get("control")]
    assert (entry["target"], entry["control"]["flow"]["op"], entry["control"]["computed"]) == ("host", "If", ["then_branch", "else_branch"])
    body = tmp_path / "out" / entry["control"]["folder"] / "else_branch"
    given = {name: array for name, array in drawn(model, 1).items() if name == "x"}
    assert list(Artifact.open(body).run(given)) == ["b"]
    garbled = json.dumps(data).replace('"outputs": ["r"]', '"outputs": ["none"]')
    assert garbled != json.dumps(data)
    (tmp_path / "out" / "artifact.json").write_text(garbled)
    with pytest.raises(CollageError, match=r"'artifact.json' garbles the bodies of partition p2"):
        Artifact.open(tmp_path / "out")
    (tmp_path / "out" / "artifact.json").write_text(json.dumps(data))
    (body / "module.so").write_bytes(b"")
    with pytest.raises(CollageError, match=r"bodies/.*/else_branch/module.so' is not the file that was written"):
        Artifact.open(tmp_path / "out")


STATE = TensorType((2,), "float32")


def loop_kernel() -> HostControl:
    flow = ControlFlow("Loop", ("m", "", "a", "b"), ("p", "q"), {"body": SWAP})
    entry = PartitionEntry("p0", "host", "", ("loop",), (Tensor("a", STATE), Tensor("b", STATE)), (Tensor("p", STATE), Tensor("q", STATE)))
    control = ControlEntry(flow, "bodies/000", (), (None, None), (), {})
    return HostControl(entry, control, {"body": HostBody(flow, "body", None, {})}, {"m": np.array(3)})


SWAP = BodySignature(("i", "c", "s", "t"), (), ("c", "t", "s"))


def test_a_body_that_only_passes_tensors_on_needs_no_artifact() -> None:
    kernel = loop_kernel()
    a, b, p, q = (np.full(2, value, np.float32) for value in (1, 2, 0, 0))
    kernel.bind([a, b], [p, q])
    kernel.run()
    assert (p.tolist(), q.tolist()) == ([2, 2], [1, 1])


def test_an_output_of_another_shape_than_planned_is_named() -> None:
    kernel = loop_kernel()
    kernel.bind([np.zeros(3, np.float32), np.zeros(2, np.float32)], [np.zeros(2, np.float32), np.zeros(2, np.float32)])
    with pytest.raises(CollageError, match=r"'q' has the shape \[3\] here, and \[2\] in the plan"):
        kernel.run()


def test_the_entry_reads_back_as_it_was_written() -> None:
    flow = ControlFlow("Loop", ("m", "", "a"), ("p", ""), {"body": SWAP})
    constants: Any = {"body": (Tensor("k", STATE),)}
    entry = ControlEntry(flow, "bodies/003", ("body",), (None, Tensor("r", STATE)), (Tensor("m", STATE),), constants)
    assert ControlEntry.from_json(json.loads(json.dumps(entry.to_json()))) == entry
    assert [tensor.name for tensor in entry.constants] == ["m", "k"]
    assert dataclasses.replace(entry, body_constants={}).constants == [Tensor("m", STATE)]
