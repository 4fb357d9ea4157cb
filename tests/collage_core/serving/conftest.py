"""Fixtures of this folder: a small artifact of ONNX Runtime alone, and a server of it on a free port of this machine."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from collage_core.serving import http_server
from collage_core.serving.http_server import ModelServer
from collage_core.serving.served_model import ServedModel
from tests.helpers.served import MOST_BYTES, write_served


@pytest.fixture(scope="session")
def served_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_served(tmp_path_factory.mktemp("served") / "out")


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
