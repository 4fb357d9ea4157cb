"""Fixtures of this folder: apps with the fake engine (`tests/plugins/fake_engine.py`), alone or listening on a free port."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from fake_engine import FakeEngine
from flask import Flask

from collage_server.app import create_app
from collage_server.config import ServerConfig
from collage_server.runs import control as run_control
from collage_server.runs import traces as trace_service
from tests.helpers.live import DEADLINE_S, Live, put_model, serve


@pytest.fixture(scope="module")
def module_patch() -> Iterator[pytest.MonkeyPatch]:
    with pytest.MonkeyPatch.context() as patch:
        yield patch


@pytest.fixture(scope="module")
def home(module_patch: pytest.MonkeyPatch, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A ``COLLAGE_HOME`` of the test module's own."""
    folder = tmp_path_factory.mktemp("home")
    module_patch.setenv("COLLAGE_HOME", str(folder))
    return folder


@pytest.fixture(scope="module")
def config(home: Path) -> ServerConfig:
    """Test modules that need another override this."""
    return ServerConfig(engine=FakeEngine(), upload_bytes=1 << 20, body_bytes=1 << 16)


@pytest.fixture(scope="module")
def app(config: ServerConfig, module_patch: pytest.MonkeyPatch) -> Iterator[Flask]:
    """Yield a server on which runs and traces have stopped when the answer comes, however busy the machine."""
    module_patch.setattr(run_control, "CANCEL_WAIT_S", DEADLINE_S)
    module_patch.setattr(trace_service, "STOP_WAIT_S", DEADLINE_S)
    made, _ = create_app(config)
    yield made
    made.extensions["collage"].close()


@pytest.fixture(scope="module")
def model(home: Path, tmp_path_factory: pytest.TempPathFactory) -> str:
    """The id of a model of two nodes that is open; no ONNX is needed to run the fake engine on it."""
    return put_model(tmp_path_factory.mktemp("model") / "tiny.onnx", b"tiny")


@pytest.fixture(scope="module")
def live(app: Flask, config: ServerConfig) -> Iterator[Live]:
    """The app, listening on a free port."""
    yield from serve(app)
