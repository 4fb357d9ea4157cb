"""Fixtures of this folder: a small artifact of ONNX Runtime alone, and a server of it on a free port of this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from collage_core.rewrite.assemble import assemble
from collage_core.rewrite.partition_models import PartitionModel
from collage_core.serving import http_server
from collage_core.serving.http_server import ModelServer
from collage_core.serving.served_model import ServedModel
from tests.helpers.small_models import node, sub_model, tensor

MOST_BYTES = 1 << 16


@pytest.fixture(scope="session")
def served_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """y = 1 / x and z = k + k: two outputs, of floats and of whole numbers."""
    nodes = [node("Reciprocal", "x", "y"), node("Add", "k k", "z")]
    model = sub_model(nodes, [tensor("x", (2, 3)), tensor("k", (2,), "int64")], [tensor("y", (2, 3)), tensor("z", (2,), "int64")])
    out = tmp_path_factory.mktemp("served") / "out"
    about = {"model": {"name": "inverse"}}
    assemble([PartitionModel("onnxruntime", ("r", "a"), model, "p")], model.inputs, ["y", "z"], out, 1, about, form="native")
    return out


@pytest.fixture(scope="session")
def served(served_folder: Path) -> Iterator[ServedModel]:
    model = ServedModel(served_folder)
    yield model
    model.close()


@contextmanager
def running(model: ServedModel, token: str | None = None) -> Iterator[ModelServer]:
    """Serve `model` on a free port meanwhile, with bounds of time looked at often."""
    with pytest.MonkeyPatch.context() as patch, ModelServer("127.0.0.1", 0, model, MOST_BYTES, token) as made:
        patch.setattr(http_server, "LOOK_S", 0.02)
        thread = threading.Thread(target=made.serve_forever, daemon=True)
        thread.start()
        try:
            yield made
        finally:
            made.shutdown()
            thread.join()


@pytest.fixture
def server(served: ServedModel) -> Iterator[ModelServer]:
    with running(served) as made:
        yield made
