"""Programs of `torch.export`: read through TVM's importer where PyTorch is there, and one line where it is not."""

from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from collage_core.errors import CollageError
from collage_core.model.reference.accuracy import largest_error
from collage_core.model.relax.load import load
from collage_core.model.relax.relax_model import RelaxModel

HAS_TORCH = importlib.util.find_spec("torch") is not None
needs_torch = pytest.mark.skipif(not HAS_TORCH, reason="PyTorch is not installed: make torch")


@pytest.mark.skipif(HAS_TORCH, reason="PyTorch is installed")
def test_without_pytorch_it_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "model.pt2").write_bytes(b"PK\x03\x04")
    with pytest.raises(CollageError, match="which is not installed") as raised:
        load(tmp_path / "model.pt2")
    assert raised.value.hint == "pip install torch"


@needs_torch
@pytest.mark.long
def test_a_damaged_program_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "model.pt2").write_bytes(b"PK\x03\x04 nothing")
    with pytest.raises(CollageError, match=r"is not a program that `torch\.export\.save` wrote"):
        load(tmp_path / "model.pt2")


@needs_torch
@pytest.mark.long
@pytest.mark.parametrize("kind", ["convolutional", "transformer", "recurrent"])
def test_it_computes_what_pytorch_computes(tmp_path: Path, kind: str) -> None:
    import torch

    torch.manual_seed(0)
    network, given = network_of(torch, kind)
    network.eval()
    torch.export.save(torch.export.export(network, (given,)), str(tmp_path / "model.pt2"))
    model = load(tmp_path / "model.pt2")
    (tensor,) = model.graph.inputs
    with torch.no_grad():
        expected = network(given).numpy()
    (name,) = model.graph.outputs
    inputs = {tensor.name: given.numpy()}
    assert largest_error(model.reference(inputs), {name: expected}) < 1e-4
    assert largest_error(model.activations(inputs, [name]), {name: expected}) < 1e-4


@needs_torch
@pytest.mark.long
def test_what_no_toolchain_takes_is_said(tmp_path: Path) -> None:
    """An operator that the importer does not know is an error that names it; one that becomes no ONNX is left to TVM, with a note."""
    import torch

    class Odd(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return torch.special.i0(torch.relu(x))

    class Grown(torch.nn.Module):  # type: ignore[misc, name-defined]
        def forward(self, x: Any) -> Any:
            return torch.sigmoid(torch.cumprod(torch.relu(x) + 1, 1))

    for name, network in (("odd", Odd()), ("grown", Grown())):
        torch.export.save(torch.export.export(network, (torch.randn(2, 3),)), str(tmp_path / f"{name}.pt2"))
    with pytest.raises(CollageError, match=r"TVM's importer does not take .*odd\.pt2': .*i0") as raised:
        load(tmp_path / "odd.pt2")
    assert raised.value.hint == "export it to ONNX instead"
    model = load(tmp_path / "grown.pt2")
    assert isinstance(model, RelaxModel)
    assert [node.op for node in model.graph.nodes] == ["Relu", "Add"]
    assert any("relax.cumprod has no ONNX equivalent" in note for note in model.notes), model.notes


def network_of(torch: Any, kind: str) -> tuple[Any, Any]:
    nn = torch.nn
    if kind == "convolutional":
        layers = [nn.Conv2d(3, 8, 3, padding=1), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2), nn.Flatten(), nn.Linear(128, 5)]
        return nn.Sequential(*layers), torch.randn(1, 3, 8, 8)
    if kind == "transformer":
        return nn.TransformerEncoderLayer(16, 2, 32, batch_first=True, activation="gelu"), torch.randn(1, 6, 16)

    class Recurrent(nn.Module):  # type: ignore[misc, name-defined]
        def __init__(self) -> None:
            super().__init__()
            self.lstm = nn.LSTM(8, 8, batch_first=True)

        def forward(self, x: Any) -> Any:
            return self.lstm(x)[0]

    return Recurrent(), torch.randn(1, 5, 8)


def test_what_is_pickled_beside_the_weights_does_not_run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """PyTorch's loader, which falls back to running it, is told not to."""
    pytest.importorskip("tvm")
    from collage_core.model.relax.torch_program import read_program

    seen = list[str | None]()
    monkeypatch.delenv("TORCH_FORCE_WEIGHTS_ONLY_LOAD", raising=False)
    loader = SimpleNamespace(load=lambda _: seen.append(os.environ.get("TORCH_FORCE_WEIGHTS_ONLY_LOAD")))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(export=loader))  # type: ignore[misc]
    importer = SimpleNamespace(from_exported_program=lambda *_, **__: "module")
    monkeypatch.setitem(sys.modules, "tvm.relax.frontend.torch", importer)  # type: ignore[misc]
    assert read_program(tmp_path / "model.pt2") == ("module", [])
    assert seen == ["1"]
